// target: one error per call; each has a second one. Issue: Nothing is missing.
fn work(_: u32) {}

#[gmp::main]
async fn main() {
    gmp::go!(println!("hi"));
    gmp::go!(work(1));
}
