//! One interface for all Rust runtimes, so that a workload is written once and favours none.

use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

/// A runtime under test. All calls are static and inlined.
pub(crate) trait Contestant: 'static {
    /// The handle of a task. It yields the task's output.
    type Handle<T: Send + 'static>: Future<Output = T> + Send;
    /// A listening socket.
    type Listener: Send + Sync;
    /// A connection.
    type Stream: Send + AsFd;

    /// Runs the workload as the runtime's first task.
    fn run<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T;
    /// [`run`](Self::run) with this number of worker threads.
    fn run_on<T: Send + 'static>(
        threads: usize,
        main: impl Future<Output = T> + Send + 'static,
    ) -> T;
    /// Starts a task; dropping the handle must not end it.
    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Handle<T>;
    /// Starts a task without a handle.
    fn go(future: impl Future<Output = ()> + Send + 'static);
    /// Returns what an external thread needs to spawn here.
    fn context() -> Context {
        Context(None)
    }
    /// Yields.
    fn yield_now() -> impl Future<Output = ()> + Send;
    /// Sleeps.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;
    /// Runs a short blocking call in the runtime's best way.
    fn blocking<T: Send + 'static>(
        f: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;
    /// Runs a blocking call like a program that marks nothing: in the task itself if the runtime
    /// allows it, otherwise in its thread pool.
    fn unmarked<T: Send + 'static>(
        f: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static;
    /// Awaits with a limit. Returns `true` if the future was ready in time.
    fn timeout(
        duration: Duration,
        future: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = bool> + Send;

    /// Listens on a free port of this host.
    fn listen() -> impl Future<Output = (Self::Listener, SocketAddr)> + Send;
    /// Accepts the next connection.
    fn accept(listener: &Self::Listener) -> impl Future<Output = Self::Stream> + Send;
    /// Connects.
    fn connect(addr: SocketAddr) -> impl Future<Output = Self::Stream> + Send;
    /// Reads some bytes. Returns 0 at the end.
    fn read(
        stream: &mut Self::Stream,
        buf: &mut [u8],
    ) -> impl Future<Output = std::io::Result<usize>> + Send;
    /// Writes all bytes.
    fn write_all(
        stream: &mut Self::Stream,
        buf: &[u8],
    ) -> impl Future<Output = std::io::Result<()>> + Send;
}

/// What an external thread needs to spawn: a handle with Tokio, nothing with the others.
pub(crate) struct Context(Option<tokio::runtime::Handle>);

impl Context {
    /// Runs `f` in this context.
    pub(crate) fn enter(&self, f: impl FnOnce()) {
        let _guard = self.0.as_ref().map(tokio::runtime::Handle::enter);
        f();
    }
}

/// gmp.
pub(crate) struct Gmp;

pub(crate) struct GmpHandle<T>(gmp_rt::JoinHandle<T>);

impl<T> Future for GmpHandle<T> {
    type Output = T;
    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<T> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(Result::unwrap)
    }
}

impl Contestant for Gmp {
    type Handle<T: Send + 'static> = GmpHandle<T>;
    type Listener = gmp_net::TcpListener;
    type Stream = gmp_net::TcpStream;

    fn run<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T {
        gmp_rt::block_on(gmp_rt::spawn(main)).unwrap()
    }
    fn run_on<T: Send + 'static>(
        threads: usize,
        main: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let runtime = gmp_rt::runtime::Builder::new().max_procs(threads).build().unwrap();
        runtime.block_on(runtime.spawn(main)).unwrap()
    }
    fn spawn<T: Send + 'static>(f: impl Future<Output = T> + Send + 'static) -> GmpHandle<T> {
        GmpHandle(gmp_rt::spawn(f))
    }
    fn go(future: impl Future<Output = ()> + Send + 'static) {
        drop(gmp_rt::spawn(future));
    }
    fn yield_now() -> impl Future<Output = ()> + Send {
        gmp_rt::yield_now()
    }
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
        gmp_rt::sleep(duration)
    }
    async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        gmp_rt::block_in_place(f)
    }
    async fn unmarked<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        f()
    }
    async fn timeout(duration: Duration, future: impl Future<Output = ()> + Send) -> bool {
        gmp_rt::timeout(duration, future).await.is_ok()
    }
    async fn listen() -> (Self::Listener, SocketAddr) {
        let listener = gmp_net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        (listener, addr)
    }
    async fn accept(listener: &Self::Listener) -> Self::Stream {
        listener.accept().await.unwrap().0
    }
    async fn connect(addr: SocketAddr) -> Self::Stream {
        gmp_net::TcpStream::connect(addr).await.unwrap()
    }
    async fn read(stream: &mut Self::Stream, buf: &mut [u8]) -> std::io::Result<usize> {
        stream.read(buf).await
    }
    async fn write_all(stream: &mut Self::Stream, buf: &[u8]) -> std::io::Result<()> {
        stream.write_all(buf).await
    }
}

/// Tokio's multi-thread runtime.
pub(crate) struct Tokio;

pub(crate) struct TokioHandle<T>(tokio::task::JoinHandle<T>);

impl<T> Future for TokioHandle<T> {
    type Output = T;
    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<T> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(Result::unwrap)
    }
}

impl Contestant for Tokio {
    type Handle<T: Send + 'static> = TokioHandle<T>;
    type Listener = tokio::net::TcpListener;
    type Stream = tokio::net::TcpStream;

    fn run<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        // As a task, because the thread of `block_on` is no worker and would be slower.
        runtime.block_on(runtime.spawn(main)).unwrap()
    }
    fn run_on<T: Send + 'static>(
        threads: usize,
        main: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.enable_all().worker_threads(threads).build().unwrap();
        runtime.block_on(runtime.spawn(main)).unwrap()
    }
    fn spawn<T: Send + 'static>(f: impl Future<Output = T> + Send + 'static) -> TokioHandle<T> {
        TokioHandle(tokio::spawn(f))
    }
    fn go(future: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(future));
    }
    fn context() -> Context {
        Context(Some(tokio::runtime::Handle::current()))
    }
    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
    async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        // Much faster than `spawn_blocking` for a call this short.
        tokio::task::block_in_place(f)
    }
    async fn unmarked<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        tokio::task::spawn_blocking(f).await.unwrap()
    }
    async fn timeout(duration: Duration, future: impl Future<Output = ()> + Send) -> bool {
        tokio::time::timeout(duration, future).await.is_ok()
    }
    async fn listen() -> (Self::Listener, SocketAddr) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        (listener, addr)
    }
    async fn accept(listener: &Self::Listener) -> Self::Stream {
        listener.accept().await.unwrap().0
    }
    async fn connect(addr: SocketAddr) -> Self::Stream {
        tokio::net::TcpStream::connect(addr).await.unwrap()
    }
    async fn read(stream: &mut Self::Stream, buf: &mut [u8]) -> std::io::Result<usize> {
        use tokio::io::AsyncReadExt;
        stream.read(buf).await
    }
    async fn write_all(stream: &mut Self::Stream, buf: &[u8]) -> std::io::Result<()> {
        use tokio::io::AsyncWriteExt;
        stream.write_all(buf).await
    }
}

/// smol's global executor with one thread per core.
pub(crate) struct Smol;

impl Contestant for Smol {
    type Handle<T: Send + 'static> = smol::Task<T>;
    type Listener = smol::net::TcpListener;
    type Stream = smol::net::TcpStream;

    fn run<T: Send + 'static>(main: impl Future<Output = T> + Send + 'static) -> T {
        smol::block_on(smol::spawn(main))
    }
    fn run_on<T: Send + 'static>(
        threads: usize,
        main: impl Future<Output = T> + Send + 'static,
    ) -> T {
        // smol reads this when it starts its threads. This program was started with it.
        let set = std::env::var("SMOL_THREADS").ok().and_then(|set| set.parse().ok());
        assert_eq!(set, Some(threads), "SMOL_THREADS");
        Self::run(main)
    }
    fn spawn<T: Send + 'static>(f: impl Future<Output = T> + Send + 'static) -> smol::Task<T> {
        smol::spawn(f)
    }
    fn go(future: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(future).detach();
    }
    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }
    async fn sleep(duration: Duration) {
        smol::Timer::after(duration).await;
    }
    async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        smol::unblock(f).await
    }
    async fn unmarked<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
        smol::unblock(f).await
    }
    async fn timeout(duration: Duration, future: impl Future<Output = ()> + Send) -> bool {
        let late = async {
            smol::Timer::after(duration).await;
            false
        };
        let in_time = async {
            future.await;
            true
        };
        smol::future::or(in_time, late).await
    }
    async fn listen() -> (Self::Listener, SocketAddr) {
        let listener = smol::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        (listener, addr)
    }
    async fn accept(listener: &Self::Listener) -> Self::Stream {
        listener.accept().await.unwrap().0
    }
    async fn connect(addr: SocketAddr) -> Self::Stream {
        smol::net::TcpStream::connect(addr).await.unwrap()
    }
    async fn read(stream: &mut Self::Stream, buf: &mut [u8]) -> std::io::Result<usize> {
        use smol::io::AsyncReadExt;
        stream.read(buf).await
    }
    async fn write_all(stream: &mut Self::Stream, buf: &[u8]) -> std::io::Result<()> {
        use smol::io::AsyncWriteExt;
        stream.write_all(buf).await
    }
}
