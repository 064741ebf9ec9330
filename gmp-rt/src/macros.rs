//! `go!`.

/// Starts a goroutine, as Go's `go` statement does; gives its [`JoinHandle`](crate::JoinHandle).
///
/// | form | runs |
/// |------|------|
/// | `go!(f(x, y))` | the future that `f(x, y)` returns; the arguments are evaluated now |
/// | `go!({ … })` | the block, as `async move` |
/// | `go!(future)` | any future |
/// | `go!(move \|\| …)` | a plain closure, which must not block for long |
/// | `go!(name = "…", …)` | any of these, with a name for dumps and reports |
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::go;
///
/// async fn add(a: u32, b: u32) -> u32 {
///     a + b
/// }
///
/// gmp::block_on(async {
///     let call = go!(add(1, 2));
///     let block = go!({ add(3, 4).await });
///     let future = go!(name = "adder", async move { 5 });
///     let closure = go!(move || 6);
///     let sum = call.await.unwrap() + block.await.unwrap() + future.await.unwrap();
///     assert_eq!(sum + closure.await.unwrap(), 21);
/// });
/// ```
#[macro_export]
macro_rules! go {
    () => {
        ::core::compile_error!("go! needs something to run: a call of an async fn, a block, a future or a closure")
    };
    (name = $name:expr $(,)?) => {
        ::core::compile_error!("go! needs something to run after the name: go!(name = \"…\", f(x))")
    };
    (name = $name:expr, $($what:tt)+) => {
        $crate::spawn_named($name, $crate::__go_future!($($what)+))
    };
    ($($what:tt)+) => {
        $crate::spawn($crate::__go_future!($($what)+))
    };
}

/// The future of a `go!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __go_future {
    ($body:block) => {
        async move $body
    };
    (move || $body:expr) => {
        async move { $body }
    };
    (|| $body:expr) => {{
        let f = || $body;
        async move { f() }
    }};
    ($future:expr $(,)?) => {
        $future
    };
}
