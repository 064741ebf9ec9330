//! Servers for foreign clients. `gmp-bench serve CONTESTANT http|mixed|redis` prints its address
//! and serves until it is killed. The protocols are the same code for all contestants. Only the
//! transport differs.

use crate::contestant::{Contestant, Gmp, Smol, Tokio};
use crate::mini_redis::session::{Session, Then};
use crate::mini_redis::store::Store;
use crate::mixed::{echo, start_hogs};
use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A contestant on which hyper runs, in the way that its documentation recommends.
pub(crate) trait Http: Contestant {
    /// Serves one connection until it ends.
    fn serve_http(stream: Self::Stream) -> impl Future<Output = ()> + Send;
}

/// hyper with this stream and timer. Errors of closed connections are ignored.
macro_rules! http {
    ($contestant:ty, $timer:expr, $wrap:expr) => {
        impl Http for $contestant {
            async fn serve_http(stream: Self::Stream) {
                let hello = service_fn(|_request| async {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(HELLO))))
                });
                let connection =
                    http1::Builder::new().timer($timer).serve_connection($wrap(stream), hello);
                let _ = connection.await;
            }
        }
    };
}

const HELLO: &[u8] = b"Hello, world!\n";

http!(Gmp, gmp_net::compat::hyper::Timer, std::convert::identity);
http!(Tokio, hyper_util::rt::TokioTimer::new(), hyper_util::rt::TokioIo::new);
http!(Smol, smol_hyper::rt::SmolTimer::new(), smol_hyper::rt::FuturesIo::new);

/// Serves forever. Returns `false` if there is no such protocol.
pub(crate) fn serve<C: Http>(protocol: &str) -> bool {
    match protocol {
        "http" => C::run(each::<C, _>(C::serve_http)),
        "mixed" => C::run(async {
            start_hogs::<C>();
            each::<C, _>(echo::<C>).await;
        }),
        "redis" => C::run(redis::<C>()),
        _ => return false,
    }
    true
}

/// Serves each connection in a task.
async fn each<C: Contestant, F>(serve: impl Fn(C::Stream) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (listener, addr) = C::listen().await;
    println!("{addr}");
    loop {
        let stream = C::accept(&listener).await;
        // Go sets this for every connection, as does any server of small requests.
        rustix::net::sockopt::set_tcp_nodelay(&stream, true).expect("set TCP_NODELAY");
        C::go(serve(stream));
    }
}

async fn redis<C: Contestant>() {
    let store = Arc::new(Store::default());
    let swept = store.clone();
    C::go(async move {
        loop {
            C::sleep(Duration::from_secs(1)).await;
            swept.sweep();
        }
    });
    each::<C, _>(move |stream| {
        let store = store.clone();
        async move {
            let _ = serve_redis::<C>(stream, &store).await;
        }
    })
    .await;
}

async fn serve_redis<C: Contestant>(mut stream: C::Stream, store: &Store) -> io::Result<()> {
    let mut session = Session::default();
    loop {
        let n = C::read(&mut stream, session.room()).await?;
        if n == 0 {
            return Ok(());
        }
        session.advance(n);
        loop {
            let then = session.answer(store);
            C::write_all(&mut stream, &session.out).await?;
            match then {
                Then::Read => break,
                Then::Answer => {}
                Then::HangUp => return Ok(()),
            }
        }
    }
}
