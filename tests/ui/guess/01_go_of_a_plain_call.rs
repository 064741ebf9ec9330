// target: one error per call, with a note that shows what to write instead. Met.
fn work(_: u32) {}

#[gmp::main]
async fn main() {
    gmp::go!(println!("hi"));
    gmp::go!(work(1));
}
