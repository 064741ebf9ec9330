//! `go!`, `preemptible_block!`, `join!`, `try_join!` and `task_local!`. The grammars of all but the
//! last are in `gmp-macros`.

pub mod join;
pub mod probe;

/// Starts a goroutine, as Go's `go` statement does, and returns its
/// [`JoinHandle`](crate::JoinHandle).
///
/// | form | runs |
/// |------|------|
/// | `go!(f(x, y))` | the future that `f(x, y)` returns; the arguments are evaluated now |
/// | `go!(future)` | any future |
/// | `go!({ … })`, `go! { statements }` | the block, as `async move`; `return` ends the goroutine |
/// | `go!(move \|\| …)`, `go!(async move \|\| …)` | the closure, which takes no arguments |
/// | `go!(name = "…", …)` | any of these, with a name for dumps and reports |
///
/// If the value of a block or of a closure is a future, the goroutine awaits it too. So the type of
/// that value must be known inside: write `go!({ numbers.sum::<u64>() })`, not a type for the
/// handle. A block that ends with a call of a function that never returns needs a `;` after the
/// call.
///
/// The order in which goroutines run is not specified. As in Go, a P runs the newest goroutine
/// first and the others in order: with one P, five spawned goroutines usually run as 5, 1, 2, 3, 4.
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
///     let closure = go!(move || add(2, 4));
///     let sum = call.await.unwrap() + block.await.unwrap() + future.await.unwrap();
///     assert_eq!(sum + closure.await.unwrap(), 21);
/// });
/// ```
///
/// # Recursion
///
/// An `async fn` cannot start itself. A function that returns `impl Future<…> + Send` can:
/// [`spawn`](crate::spawn()#recursion) has an example.
#[doc(alias = "goroutine")]
#[macro_export]
macro_rules! go {
    ($($what:tt)*) => {
        $crate::__go_macro!($crate; $($what)*)
    };
}

/// Puts preemption checks into the loops of an async block, as `#[gmp::preemptible]` does.
///
/// It takes an `async` block or an `async` closure, and returns it with the checks. The name
/// differs from that of the attribute because Rust has one namespace for both kinds of macros.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::{go, preemptible_block};
///
/// gmp::block_on(async {
///     let limit = 1_000_000u64;
///     let sum = go!(preemptible_block!(async move {
///         let mut sum = 0u64;
///         for n in 0..limit {
///             sum = sum.wrapping_add(n * n);
///         }
///         sum
///     }));
///     assert_eq!(sum.await.unwrap(), 333_332_833_333_500_000);
/// });
/// ```
///
#[macro_export]
macro_rules! preemptible_block {
    ($($block:tt)*) => {
        $crate::__preemptible_block_macro!($crate::preempt; $($block)*)
    };
}

/// Runs several futures concurrently in one goroutine, and returns their outputs as a tuple.
///
/// It takes futures and anything that can be turned into one. They run by turns on the thread of
/// the goroutine, not in parallel. For parallel work start goroutines with [`go!`](crate::go!), and
/// await their handles. [`block_in_place`](crate::block_in_place()) in one of the futures stops all
/// of them.
///
/// Each poll begins with another future, and the goroutine yields between two futures if the
/// runtime requests it. So a busy future does not starve the others.
///
/// Without arguments it returns `()`.
///
/// # Panics
///
/// A panic in one future ends the `join!`. The others are dropped.
///
/// # Cancel safety
///
/// A `join!` that is dropped drops its futures. The outputs of those that are ready are lost.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use std::time::Duration;
///
/// async fn load(n: u32) -> u32 {
///     gmp::sleep(Duration::from_millis(1)).await;
///     n
/// }
///
/// gmp::block_on(async {
///     let (a, b) = gmp::join!(load(1), load(2));
///     assert_eq!(a + b, 3);
/// });
/// ```
#[macro_export]
macro_rules! join {
    ($($futures:tt)*) => {
        $crate::__join_macro!($crate::__join; $($futures)*)
    };
}

/// Runs several futures concurrently in one goroutine until all are ready or one returns an error.
///
/// The outputs of the futures are results with the same type of error. It returns `Ok` with a tuple
/// of the values. At the first error it returns that error and drops the other futures. If several
/// futures return an error at once, it returns one of them.
///
/// The futures run as in [`join!`](crate::join!). For goroutines whose first error cancels the
/// others there is `gmp::sync::ErrGroup`.
///
/// # Errors
///
/// The first error of a future.
///
/// # Cancel safety
///
/// As [`join!`](crate::join!). The values of the futures that were ready before the error are lost.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// async fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// gmp::block_on(async {
///     assert_eq!(gmp::try_join!(parse("1"), parse("2")), Ok((1, 2)));
///     assert!(gmp::try_join!(parse("1"), parse("two")).is_err());
/// });
/// ```
#[macro_export]
macro_rules! try_join {
    ($($futures:tt)*) => {
        $crate::__try_join_macro!($crate::__join; $($futures)*)
    };
}

/// Declares values of a task: keys whose values are set while a future runs.
///
/// It takes what `thread_local!` takes, without initial values: attributes, visibility, several
/// statics. Each is a [`LocalKey`](crate::task::LocalKey), whose methods set and read the value.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::task_local! {
///     /// The request that the goroutine serves.
///     pub static REQUEST: u64;
/// }
///
/// async fn serve() -> u64 {
///     gmp::yield_now().await;
///     REQUEST.get()
/// }
///
/// gmp::block_on(async {
///     assert_eq!(REQUEST.scope(7, serve()).await, 7);
///     // A spawned goroutine has the value only if it is passed on.
///     let carried = REQUEST.scope(8, async { gmp::spawn(REQUEST.carry(serve())).await });
///     assert_eq!(carried.await.unwrap(), 8);
/// });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident : $type:ty $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static CURRENT: $crate::__task_local::KeyPointer<$type> =
                    const { $crate::__task_local::KeyPointer::empty() };
            }
            $crate::task::LocalKey::__new(CURRENT)
        };
        $($crate::task_local! { $($rest)* })?
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident : $type:ty = $($rest:tt)*) => {
        ::core::compile_error! {
            "task_local! has no initial value; set it with `KEY.scope(value, future)`"
        }
    };
}
