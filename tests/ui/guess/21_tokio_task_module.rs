// target: compiles. Met.
#[gmp::main]
async fn main() {
    let n = gmp::task::spawn_blocking(|| 1).await;
    let h = gmp::task::spawn(async {});
    let _ = gmp::task::JoinSet::<()>::new();
    h.abort_handle().abort();
    println!("{n:?}");
}
