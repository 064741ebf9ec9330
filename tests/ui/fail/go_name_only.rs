fn main() {
    gmp::go!(name = "nobody");
}
