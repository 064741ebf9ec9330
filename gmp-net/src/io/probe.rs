//! Detects whether a reader or writer is a descriptor of a known type.
//!
//! Go's `io.Copy` inspects the dynamic type of an interface value. Here the types are known at
//! compile time, but a generic function cannot compare them: Rust has no specialization, and `Any`
//! needs types without lifetimes. `typeid` gives the identity of any type and ignores lifetimes.
//! That is enough, because a lifetime says how long a value may be used, not what it is.
//!
//! The type must be one of those below. It is not enough that it contains one. So a stream inside
//! TLS or a `BufReader` is never mistaken for the socket.
//!
//! # Invariant
//!
//! - I1: two types that differ only in lifetimes have the same layout, and equal identities mean
//!   that they differ in nothing else. A `&'a T` exists only while all lifetimes in `T` outlast
//!   `'a`, and all types below are covariant in their lifetimes. So it is sound to treat a `T`
//!   behind `&'a` as one whose lifetimes are `'a`.

use super::{Blocking, pipe};
use crate::fd::{Described, Descriptor};
use crate::{Async, TcpStream, UnixStream, fs, process, tcp, unix};
use std::fs::File;
use std::io::{PipeReader, PipeWriter};
use std::process::ChildStdin;

/// A source or destination that the kernel can copy from or to.
#[derive(Clone, Copy)]
pub(super) enum Endpoint<'a> {
    /// A socket or a pipe, which the netpoller can wait for.
    Stream(&'a dyn Descriptor),
    /// A file, which is always ready and may block.
    File(&'a File),
}

/// Returns `io` as a `T`, if it is one.
fn cast<'a, I: ?Sized, T: 'a>(io: &'a I) -> Option<&'a T> {
    if typeid::of::<I>() != typeid::of::<T>() {
        return None;
    }
    let io = std::ptr::from_ref(io).cast::<T>();
    // SAFETY: I1 — called in this file only, with types `T` whose lifetimes are `'a`.
    Some(unsafe { &*io })
}

/// Returns the descriptor of `io`, if its type is one of those below.
pub(super) fn endpoint<I: ?Sized>(io: &I) -> Option<Endpoint<'_>> {
    stream(io)
        .map(Endpoint::Stream)
        .or_else(|| cast::<_, Blocking<File>>(io).map(|file| Endpoint::File(file.get_ref())))
        .or_else(|| cast::<_, Blocking<&File>>(io).map(|file| Endpoint::File(file.get_ref())))
        .or_else(|| cast::<_, fs::File>(io).map(|file| Endpoint::File(file.as_std())))
        .or_else(|| cast::<_, &fs::File>(io).map(|file| Endpoint::File(file.as_std())))
}

fn stream<I: ?Sized>(io: &I) -> Option<&dyn Descriptor> {
    tcp_stream(io)
        .map(TcpStream::descriptor)
        .or_else(|| unix_stream(io).map(UnixStream::descriptor))
        .or_else(|| cast::<_, pipe::PipeReader>(io).map(Described::descriptor))
        .or_else(|| cast::<_, &pipe::PipeReader>(io).map(|end| end.descriptor()))
        .or_else(|| cast::<_, pipe::PipeWriter>(io).map(Described::descriptor))
        .or_else(|| cast::<_, process::ChildStdin>(io).map(Described::descriptor))
        .or_else(|| cast::<_, process::ChildStdout>(io).map(Described::descriptor))
        .or_else(|| cast::<_, process::ChildStderr>(io).map(Described::descriptor))
        .or_else(|| cast::<_, Async<PipeReader>>(io).map(Async::descriptor))
        .or_else(|| cast::<_, Async<PipeWriter>>(io).map(Async::descriptor))
        .or_else(|| cast::<_, Async<ChildStdin>>(io).map(Async::descriptor))
        .or_else(|| cast::<_, Async<File>>(io).map(Async::descriptor))
}

fn tcp_stream<I: ?Sized>(io: &I) -> Option<&TcpStream> {
    cast::<_, TcpStream>(io)
        .or_else(|| cast::<_, &TcpStream>(io).copied())
        .or_else(|| cast::<_, &mut TcpStream>(io).map(|stream| &**stream))
        .or_else(|| cast::<_, tcp::ReadHalf<'_>>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, tcp::WriteHalf<'_>>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, tcp::OwnedReadHalf>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, tcp::OwnedWriteHalf>(io).map(AsRef::as_ref))
}

fn unix_stream<I: ?Sized>(io: &I) -> Option<&UnixStream> {
    cast::<_, UnixStream>(io)
        .or_else(|| cast::<_, &UnixStream>(io).copied())
        .or_else(|| cast::<_, &mut UnixStream>(io).map(|stream| &**stream))
        .or_else(|| cast::<_, unix::ReadHalf<'_>>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, unix::WriteHalf<'_>>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, unix::OwnedReadHalf>(io).map(AsRef::as_ref))
        .or_else(|| cast::<_, unix::OwnedWriteHalf>(io).map(AsRef::as_ref))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::io::{AsyncRead, BufReader};

    /// Calls `endpoint` as a generic function does.
    fn is_stream<I: ?Sized>(io: &I) -> bool {
        matches!(endpoint(io), Some(Endpoint::Stream(_)))
    }

    #[test]
    fn descriptors_are_recognised_and_wrappers_are_not() {
        gmp_rt::block_on(async {
            let (mut a, b) = UnixStream::pair().unwrap();
            assert!(is_stream(&a) && is_stream(&&a) && is_stream(&&mut a));
            assert!(!is_stream(&BufReader::new(&b)));
            assert!(!is_stream(&futures::AsyncReadExt::take(&b, 3)));
            let any: &dyn AsyncRead = &b;
            assert!(!is_stream(any));
            let (reader, writer) = std::io::pipe().unwrap();
            assert!(is_stream(&Async::new(reader).unwrap()));
            assert!(is_stream(&Async::new(writer).unwrap()));
            let (reader, writer) = pipe::pipe().unwrap();
            assert!(is_stream(&reader) && is_stream(&&reader) && is_stream(&writer));
            let file = File::open("Cargo.toml").unwrap();
            assert!(matches!(endpoint(&Blocking::new(&file)), Some(Endpoint::File(_))));
            assert!(matches!(endpoint(&Blocking::new(file)), Some(Endpoint::File(_))));
            let file = fs::File::open("Cargo.toml").await.unwrap();
            assert!(matches!(endpoint(&&file), Some(Endpoint::File(_))));
            assert!(matches!(endpoint(&file), Some(Endpoint::File(_))));
            assert!(endpoint(&Blocking::new(std::io::empty())).is_none());
        });
    }

    #[test]
    fn halves_of_streams_are_recognised() {
        gmp_rt::block_on(async {
            let listener = crate::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            assert!(is_stream(&stream) && is_stream(&&stream) && is_stream(&&mut stream));
            let (reader, writer) = stream.split();
            assert!(is_stream(&reader) && is_stream(&writer));
            let (reader, writer) = stream.into_split();
            assert!(is_stream(&reader) && is_stream(&writer));
            let (mut stream, _other) = UnixStream::pair().unwrap();
            let (reader, writer) = stream.split();
            assert!(is_stream(&reader) && is_stream(&writer));
            let (reader, writer) = stream.into_split();
            assert!(is_stream(&reader) && is_stream(&writer));
        });
    }
}
