// target: an error that names `Canceller`; its docs begin with `canceller.cancel()`. Met.
use gmp::context::Context;

#[gmp::main]
async fn main() {
    let (_ctx, cancel) = Context::background().with_cancel();
    cancel();
}
