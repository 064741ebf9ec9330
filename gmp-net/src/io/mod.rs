//! Input and output apart from sockets: traits, buffers, copying, pipes, standard input and output.
//!
//! The traits are those of `futures`: a reader or writer of gmp works with every library that takes
//! them, and a program needs no dependency on `futures`.
//!
//! With [`AsyncReadExt`] in scope, `stream.split()` is the method of that trait, which takes the
//! stream. `TcpStream::split(&mut stream)`, `into_split` and [`split()`] are not ambiguous.

mod blocking;
mod buffered;
mod copy;
#[cfg(target_os = "linux")]
mod direct;
#[cfg(not(target_os = "linux"))]
#[path = "direct_none.rs"]
mod direct;
mod duplex;
mod lines;
mod pipe;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a type found to be another, I1 of the module")]
mod probe;
mod split;
mod stdin;
mod stdio;
mod stdout;
mod tally;

pub use self::blocking::Blocking;
pub use self::copy::{copy, copy_bidirectional};
pub use self::duplex::{DuplexStream, duplex};
pub use self::lines::{LinesExt, NextLine};
pub use self::pipe::{PipeReader, PipeWriter, pipe};
pub use self::split::split;
pub use self::stdin::{Stdin, StdinLines, stdin};
pub use self::stdout::{Stderr, Stdout, stderr, stdout};
#[doc(no_inline)]
pub use futures::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufWriter, Cursor, Empty, Lines, ReadHalf, Repeat, Sink, WriteHalf,
    empty, repeat, sink,
};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
