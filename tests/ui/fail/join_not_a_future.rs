async fn wrong() {
    gmp::join!(async {}, 1 + 1);
}

async fn not_a_result() {
    let _: Result<_, ()> = gmp::try_join!(async {}, async { Ok(1) });
}

fn main() {}
