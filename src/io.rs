//! Readers and writers: traits, buffers, copying in the kernel, pipes, standard input and output.
//!
//! The traits are those of `futures`: a reader or writer of gmp works with every library that takes
//! them, and a program needs no dependency on `futures`. [`BufReader`] and [`BufWriter`] pay off
//! wherever each small read or write would be a system call.
//!
//! With [`AsyncReadExt`] in scope, `stream.split()` is the method of that trait, which takes the
//! stream. `TcpStream::split(&mut stream)`, `into_split` and [`split`] are not ambiguous.
//!
//! # Examples
//!
//! ```
//! use gmp::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, LinesExt};
//!
//! #[gmp::main]
//! async fn main() -> gmp::io::Result<()> {
//!     let (near, mut far) = gmp::io::duplex(1024);
//!     gmp::go!({ far.write_all(b"one\ntwo\n").await });
//!     let mut lines = BufReader::new(near).lines();
//!     while let Some(line) = lines.next_line().await? {
//!         println!("{line}");
//!     }
//!     Ok(())
//! }
//! ```

#[doc(no_inline)]
pub use gmp_net::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufWriter, Cursor, Empty, Error, ErrorKind, Lines, ReadHalf, Repeat,
    Result, SeekFrom, Sink, WriteHalf, empty, repeat, sink,
};
pub use gmp_net::io::{
    Blocking, DuplexStream, LinesExt, NextLine, PipeReader, PipeWriter, Stderr, Stdin, StdinLines,
    Stdout, copy, copy_bidirectional, duplex, pipe, split, stderr, stdin, stdout,
};
