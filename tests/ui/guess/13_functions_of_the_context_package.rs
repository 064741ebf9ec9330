// target: `background` compiles; `with_timeout` is an error, as it is a method. Met.
use std::time::Duration;

#[gmp::main]
async fn main() {
    let root = gmp::context::background();
    let _ = gmp::context::with_timeout(root, Duration::from_secs(1));
}
