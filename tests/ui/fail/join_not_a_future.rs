async fn wrong() {
    gmp::join!(async {}, 1 + 1);
}

fn main() {}
