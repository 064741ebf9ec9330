fn main() {
    gmp::go!(move |n: u32| n + 1);
    gmp::go!(|n| n);
}
