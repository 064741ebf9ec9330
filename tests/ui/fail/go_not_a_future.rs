fn main() {
    gmp::go!(1 + 1);
}
