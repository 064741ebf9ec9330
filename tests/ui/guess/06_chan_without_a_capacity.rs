// target: an error that says that the capacity is missing. Met.
#[gmp::main]
async fn main() {
    let (tx, rx) = gmp::chan::<i32>();
    tx.send(1).await.unwrap();
    rx.recv().await.unwrap();
}
