async fn work() {}

fn main() {
    gmp::go!(name = "a", name = "b", work());
}
