//! The two halves of a Unix stream.
//!
//! # Examples
//!
//! ```
//! # gmp_rt::block_on(async {
//! let (a, b) = gmp_net::UnixStream::pair()?;
//! let (reader, writer) = a.into_split();
//! gmp_rt::spawn(async move { writer.write_all(b"ping").await });
//! let mut buf = [0; 4];
//! b.read_exact(&mut buf).await?;
//! b.write_all(&buf).await?;
//! reader.read_exact(&mut buf).await?;
//! assert_eq!(&buf, b"ping");
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```

use super::UnixStream;
use crate::half_macros::halves;
use futures::io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll};

halves!(UnixStream, std::os::unix::net::SocketAddr);
