// target: compiles with a note that names `gmp::chan`. Met.
#[gmp::main]
async fn main() {
    let (tx, mut rx) = gmp::sync::mpsc::channel::<i32>(32);
    tx.send(1).await.unwrap();
    println!("{:?}", rx.recv().await);
}
