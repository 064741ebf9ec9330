//! `axum::serve` with a goroutine for each connection. It needs the feature `axum` of gmp.
//!
//! `axum::serve` spawns its connections on Tokio, so all handlers share Tokio's one worker: a
//! handler that blocks or computes stops all others. [`serve`] here takes the same arguments. It
//! spawns each connection as a goroutine, and each request of an HTTP/2 connection as well. So
//! handlers run on all Ps, may block, and appear in dumps.
//!
//! It serves axum's `Router` and every other tower service for HTTP requests, on sockets of Tokio
//! or of gmp. gmp's sockets are faster, because no event goes through Tokio's worker.
//!
//! # Differences from `axum::serve`
//!
//! - The service is given as it is, without `into_make_service`. [`serve_with`] makes a service for
//!   each connection, from the address of the client.
//! - [`Serve`] ends with an error if the listener fails for good. `axum::serve` retries for ever.
//! - The headers of an HTTP/1 request must arrive within 30 seconds.
//! - TCP connections have `TCP_NODELAY` set.
//! - If the future is dropped, the open connections finish their requests and end.
//!
//! WebSocket handlers of axum (`WebSocketUpgrade::on_upgrade`) run as Tokio tasks, because axum
//! spawns them. They need a runtime with [`BuilderExt::tokio`](crate::BuilderExt::tokio). Routers
//! without them, on sockets of gmp, need no Tokio runtime.
//!
//! # Examples
//!
//! ```ignore
//! use axum::{Router, routing::get};
//!
//! #[gmp::main(tokio)]
//! async fn main() -> std::io::Result<()> {
//!     let app = Router::new().route("/", get(|| async { "Hello!" }));
//!     let listener = gmp::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     gmp::compat::tokio::axum::serve(listener, app).await
//! }
//! ```

mod listener;

pub use self::listener::Listener;

use gmp_net::compat::hyper::{Executor, Timer};
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::fmt;
use std::future::{self, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use tower_service::Service;

/// A service that [`serve`] can serve, such as axum's `Router`.
///
/// It is implemented for every tower service of HTTP requests that can be cloned and sent.
pub trait HttpService:
    Service<
        Request<Incoming>,
        Response = Response<Self::ResponseBody>,
        Error: Into<Box<dyn Error + Send + Sync>>,
        Future: Send,
    > + Clone
    + Send
    + 'static
{
    /// The body of the responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
}

impl<S, B> HttpService for S
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type ResponseBody = B;
}

/// Serves HTTP/1 and HTTP/2 on the connections of `listener`, each in a goroutine of its own.
///
/// The result is a future. It ends only by [`Serve::with_graceful_shutdown`] or by an error. The
/// [module](self) has an example.
///
/// # Errors
///
/// The error of the listener, if it cannot accept any more: it was closed, or its Tokio runtime has
/// ended. A connection that fails does not end the server. If the process is out of descriptors,
/// the server waits until one is free.
///
/// # Cancel safety
///
/// If the future is dropped, no more connections are accepted. The open ones finish the requests
/// that have begun, and end.
pub fn serve<L, S>(listener: L, service: S) -> Serve<L, impl FnMut(&L::Addr) -> S + Send>
where
    L: Listener,
    S: HttpService,
{
    serve_with(listener, move |_: &L::Addr| service.clone())
}

/// Serves, as [`serve`], with a service for each connection, which `make` returns for the client's
/// address.
///
/// # Examples
///
/// A router whose handlers extract axum's `ConnectInfo`:
///
/// ```ignore
/// use axum::{Extension, extract::ConnectInfo};
///
/// serve_with(listener, move |peer: &SocketAddr| app.clone().layer(Extension(ConnectInfo(*peer))))
/// ```
pub fn serve_with<L, M, S>(listener: L, make: M) -> Serve<L, M>
where
    L: Listener,
    M: FnMut(&L::Addr) -> S + Send,
    S: HttpService,
{
    Serve { listener, make }
}

/// The server of [`serve`]. Await it to run it.
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve<L, M> {
    listener: L,
    make: M,
}

impl<L: fmt::Debug, M> fmt::Debug for Serve<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl<L, M, S> Serve<L, M>
where
    L: Listener,
    M: FnMut(&L::Addr) -> S + Send,
    S: HttpService,
{
    /// Returns the server with an end.
    ///
    /// When `signal` is ready, the server closes the listener. It then waits until the open
    /// connections have finished the requests that have begun. Put a [`gmp::timeout`] around the
    /// server to bound that.
    ///
    /// [`gmp::timeout`]: gmp_rt::timeout
    #[must_use = "futures do nothing unless awaited"]
    pub fn with_graceful_shutdown<F>(
        self,
        signal: F,
    ) -> impl Future<Output = io::Result<()>> + Send + use<L, M, S, F>
    where
        F: Future<Output = ()> + Send,
    {
        self.run(signal)
    }

    async fn run(mut self, signal: impl Future<Output = ()> + Send) -> io::Result<()> {
        let mut http = auto::Builder::new(Executor);
        http.http1().timer(Timer);
        // For WebSockets over HTTP/2.
        http.http2().timer(Timer).enable_connect_protocol();
        let open = GracefulShutdown::new();
        let mut signal = pin!(signal);
        while let Some(accepted) = accept_until(&self.listener, signal.as_mut()).await {
            let (io, addr) = accepted?;
            let service = TowerToHyperService::new((self.make)(&addr));
            let connection = http.serve_connection_with_upgrades(io, service).into_owned();
            let connection = open.watch(connection);
            // Most errors mean that the client is gone. So there is no receiver for a report.
            drop(gmp_rt::spawn(async move { drop(connection.await) }));
            // A Tokio listener does not yield by itself.
            gmp_rt::checkpoint().await;
        }
        drop(self.listener);
        open.shutdown().await;
        Ok(())
    }
}

/// Accepts a connection. Returns `None` if `signal` is ready first.
async fn accept_until<L: Listener>(
    listener: &L,
    mut signal: Pin<&mut impl Future<Output = ()>>,
) -> Option<io::Result<(L::Io, L::Addr)>> {
    let mut accepted = pin!(listener.accept());
    poll_fn(|cx| match signal.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => accepted.as_mut().poll(cx).map(Some),
    })
    .await
}

impl<L, M, S> IntoFuture for Serve<L, M>
where
    L: Listener,
    M: FnMut(&L::Addr) -> S + Send + 'static,
    S: HttpService,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(future::pending()))
    }
}
