// target: an error that names `Result<i32, RecvError>`. Met.
#[gmp::main]
async fn main() {
    let (_tx, rx) = gmp::chan::<i32>(1);
    while let Some(v) = rx.recv().await {
        println!("{v}");
    }
}
