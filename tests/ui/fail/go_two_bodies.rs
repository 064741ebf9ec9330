async fn work(_: u32) {}

fn main() {
    gmp::go!(work(1), work(2));
}
