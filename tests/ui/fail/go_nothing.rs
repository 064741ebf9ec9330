fn main() {
    gmp::go!();
}
