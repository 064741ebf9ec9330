// target: one error per call. Met but for the second error of each; the rework of `go!` removes it.
fn work(_: u32) {}

#[gmp::main]
async fn main() {
    gmp::go!(println!("hi"));
    gmp::go!(work(1));
}
