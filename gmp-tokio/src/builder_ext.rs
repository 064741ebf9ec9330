//! `BuilderExt`: the settings of a gmp runtime for Tokio.

use crate::guest::{Borrowed, Owned};
use gmp_rt::runtime::Builder;
use std::sync::Arc;
use tokio::runtime::Handle;

mod sealed {
    #[expect(unnameable_types, reason = "no other type implements it")]
    pub trait Sealed {}
    impl Sealed for gmp_rt::runtime::Builder {}
}

/// Adds Tokio to the [`Builder`] of a gmp runtime.
///
/// The [module](crate) says what runs where. The last of the two settings counts.
pub trait BuilderExt: sealed::Sealed {
    /// Starts a Tokio runtime with the gmp runtime, and ends it after the goroutines.
    ///
    /// It is a multi-thread runtime with one worker thread and all drivers. The names of its
    /// threads begin with the prefix of [`Builder::name`] and `-tokio`. They have the stack size of
    /// [`Builder::thread_stack_size`], else Tokio's.
    ///
    /// # Errors
    ///
    /// `build` returns an error if Tokio cannot start: the process has no descriptors left, or the
    /// OS refuses the worker thread. In the latter case Tokio panics, and the panic hook prints the
    /// panic before `build` returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// # use gmp_tokio::BuilderExt;
    /// let runtime = gmp::runtime::Builder::new().tokio().build()?;
    /// runtime.block_on(async {
    ///     let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    ///     let addr = listener.local_addr()?;
    ///     let accepted = gmp::spawn(async move { listener.accept().await });
    ///     let stream = tokio::net::TcpStream::connect(addr).await?;
    ///     assert_eq!(accepted.await??.1, stream.local_addr()?);
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a builder does nothing until `build`"]
    fn tokio(self) -> Self;

    /// Uses a Tokio runtime that the program already has.
    ///
    /// The runtime belongs to the program, which has to end it after the gmp runtime. If it ends
    /// earlier, Tokio's sockets and tasks return errors in the goroutines, and its timers panic
    /// there. `#[tokio::test]` and `Builder::new_current_thread` drive the timers and sockets only
    /// inside of `block_on`. A multi-thread runtime always does.
    ///
    /// `gmp::spawn` in a Tokio task of this runtime uses the default runtime of gmp. Use a
    /// `gmp::runtime::Handle` there.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// # use gmp_tokio::BuilderExt;
    /// #[tokio::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let tokio = tokio::runtime::Handle::current();
    ///     let runtime = gmp::runtime::Builder::new().tokio_handle(tokio).build()?;
    ///     let name = runtime.spawn(async { tokio::fs::read_to_string("Cargo.toml").await });
    ///     assert!(name.await??.contains("[package]")); // a JoinHandle works in Tokio tasks
    ///     Ok(())
    /// }
    /// ```
    #[must_use = "a builder does nothing until `build`"]
    fn tokio_handle(self, handle: Handle) -> Self;
}

impl BuilderExt for Builder {
    fn tokio(self) -> Self {
        self.guest(|host| Ok(Arc::new(Owned::start(&host)?)))
    }

    fn tokio_handle(self, handle: Handle) -> Self {
        self.guest(move |_host| Ok(Arc::new(Borrowed::new(handle.clone()))))
    }
}
