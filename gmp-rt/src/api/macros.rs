//! `go!` and `preemptible_block!`. Their grammars are in `gmp-macros`.

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
