fn work(_: u32) {}

fn main() {
    gmp::go!(1 + 1);
    gmp::go!(work(1));
    gmp::go!(println!("hi"));
}
