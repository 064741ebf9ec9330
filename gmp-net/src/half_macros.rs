//! The two halves of a stream, for TCP and Unix.
//!
//! A half offers only the operations of its direction. `AsRef` is the explicit way to the whole
//! stream.

/// Defines the halves of `$stream`, whose addresses are `$addr`.
macro_rules! halves {
    ($stream:ident, $addr:ty) => {
        #[doc = concat!("The reading half of a borrowed [`", stringify!($stream), "`](crate::", stringify!($stream), ").")]
        ///
        /// `as_ref()` gives the whole stream.
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $stream);

        #[doc = concat!("The writing half of a borrowed [`", stringify!($stream), "`](crate::", stringify!($stream), ").")]
        ///
        /// `as_ref()` gives the whole stream.
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $stream);

        #[doc = concat!("The reading half of a [`", stringify!($stream), "`](crate::", stringify!($stream), "), for a goroutine of its own.")]
        ///
        /// `as_ref()` gives the whole stream.
        #[derive(Debug)]
        pub struct OwnedReadHalf(std::sync::Arc<$stream>);

        #[doc = concat!("The writing half of a [`", stringify!($stream), "`](crate::", stringify!($stream), "), for a goroutine of its own.")]
        ///
        /// Dropping it finishes writing: the other end reads the end of the stream. `as_ref()`
        /// gives the whole stream.
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: std::sync::Arc<$stream>,
            on_drop: OnDrop,
        }

        /// What dropping the writing half does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum OnDrop {
            Finish,
            Nothing,
        }

        /// Splits a borrowed stream.
        pub(super) fn borrowed(stream: &mut $stream) -> (ReadHalf<'_>, WriteHalf<'_>) {
            (ReadHalf(stream), WriteHalf(stream))
        }

        /// Splits a stream into halves that share it.
        pub(super) fn owned(stream: $stream) -> (OwnedReadHalf, OwnedWriteHalf) {
            let stream = std::sync::Arc::new(stream);
            (OwnedReadHalf(stream.clone()), OwnedWriteHalf { stream, on_drop: OnDrop::Finish })
        }

        impl OwnedReadHalf {
            /// Joins the halves of one stream.
            ///
            /// # Errors
            ///
            /// Gives both halves back if they are not of the same stream.
            pub fn reunite(self, write: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
                if !std::sync::Arc::ptr_eq(&self.0, &write.stream) {
                    return Err(ReuniteError(self, write));
                }
                write.forget();
                Ok(std::sync::Arc::try_unwrap(self.0).expect("only the two halves share a stream"))
            }
        }

        impl OwnedWriteHalf {
            /// Drops the half without finishing: the stream stays open for writing until the other
            /// half is dropped.
            pub fn forget(mut self) {
                self.on_drop = OnDrop::Nothing;
            }

            /// Joins the halves of one stream, as [`OwnedReadHalf::reunite`] does.
            ///
            /// # Errors
            ///
            /// Gives both halves back if they are not of the same stream.
            pub fn reunite(self, read: OwnedReadHalf) -> Result<$stream, ReuniteError> {
                read.reunite(self)
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.on_drop == OnDrop::Finish {
                    // The connection may be gone already.
                    let _ = self.stream.finish();
                }
            }
        }

        $crate::half_macros::read_calls!(ReadHalf<'_>, 0, $stream, $addr);
        $crate::half_macros::read_calls!(OwnedReadHalf, 0, $stream, $addr);
        $crate::half_macros::write_calls!(WriteHalf<'_>, 0, $stream, $addr);
        $crate::half_macros::write_calls!(OwnedWriteHalf, stream, $stream, $addr);

        /// Two halves that are not of the same stream.
        #[derive(Debug)]
        pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

        impl std::fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the halves are of different streams")
            }
        }

        impl std::error::Error for ReuniteError {}
    };
}

/// Implements what both kinds of halves have. `self.$path` is the stream.
macro_rules! common_half_calls {
    ($half:ty, $path:tt, $stream:ident, $addr:ty) => {
        impl AsRef<$stream> for $half {
            fn as_ref(&self) -> &$stream {
                &self.$path
            }
        }

        impl $half {
            /// Returns the address of this end.
            pub fn local_addr(&self) -> std::io::Result<$addr> {
                self.$path.local_addr()
            }

            /// Returns the address of the other end.
            pub fn peer_addr(&self) -> std::io::Result<$addr> {
                self.$path.peer_addr()
            }

            /// Whether the stream was closed, by `as_ref().close()`.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.$path.is_closed()
            }
        }
    };
}

/// Implements the operations of a reading half. `self.$path` is the stream.
macro_rules! read_calls {
    ($half:ty, $path:tt, $stream:ident, $addr:ty) => {
        $crate::half_macros::common_half_calls!($half, $path, $stream, $addr);
        $crate::stream_macros::futures_read!($half, $path);

        impl $half {
            /// Receives at most `buf.len()` bytes. Returns 0 if the other end has finished.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped read has received nothing.
            pub async fn read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.$path.read(buf).await
            }

            /// Receives into several buffers, in order.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped read has received nothing.
            pub async fn read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.$path.read_vectored(bufs).await
            }

            /// Receives exactly `buf.len()` bytes.
            ///
            /// # Errors
            ///
            /// `UnexpectedEof` if the other end finishes before.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future loses the bytes that it has received.
            pub async fn read_exact(&self, buf: &mut [u8]) -> std::io::Result<()> {
                self.$path.read_exact(buf).await
            }

            /// Receives without waiting. The error is `WouldBlock` if there is nothing to receive.
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.$path.try_read(buf)
            }

            /// Waits until a read would not block: there are bytes, the end, or an error.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn readable(&self) -> std::io::Result<()> {
                self.$path.readable().await
            }

            /// Sets the deadline of all reads, waiting ones included. `None` removes it.
            ///
            /// After the deadline reads fail with an error of the kind `TimedOut`, until another
            /// deadline is set.
            pub fn set_read_deadline(&self, deadline: Option<std::time::Instant>) {
                self.$path.set_read_deadline(deadline);
            }
        }
    };
}

/// Implements the operations of a writing half. `self.$path` is the stream.
macro_rules! write_calls {
    ($half:ty, $path:tt, $stream:ident, $addr:ty) => {
        $crate::half_macros::common_half_calls!($half, $path, $stream, $addr);
        $crate::stream_macros::futures_write!($half, $path);

        impl $half {
            /// Sends a part of `buf`, as much as the OS takes. Waits only if the OS takes nothing.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has sent nothing.
            pub async fn write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.$path.write(buf).await
            }

            /// Sends from several buffers, in order.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe. A dropped write has sent nothing.
            pub async fn write_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.$path.write_vectored(bufs).await
            }

            /// Sends all of `buf`.
            ///
            /// # Cancel safety
            ///
            /// Not cancel-safe. A dropped future may have sent a part of `buf`.
            pub async fn write_all(&self, buf: &[u8]) -> std::io::Result<()> {
                self.$path.write_all(buf).await
            }

            /// Sends without waiting. The error is `WouldBlock` if the OS takes nothing now.
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.$path.try_write(buf)
            }

            /// Waits until a write would not block.
            ///
            /// # Cancel safety
            ///
            /// Cancel-safe.
            pub async fn writable(&self) -> std::io::Result<()> {
                self.$path.writable().await
            }

            /// Sets the deadline of all writes, waiting ones included. `None` removes it.
            ///
            /// After the deadline writes fail with an error of the kind `TimedOut`, until another
            /// deadline is set.
            pub fn set_write_deadline(&self, deadline: Option<std::time::Instant>) {
                self.$path.set_write_deadline(deadline);
            }
        }
    };
}

pub(crate) use {common_half_calls, halves, read_calls, write_calls};
