async fn work() {}

fn main() {
    gmp::go!(prio = 1, work());
    gmp::go!(prio = 1);
}
