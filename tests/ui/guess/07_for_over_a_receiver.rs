// target: an error that says that a receiver is no iterator. Met.
#[gmp::main]
async fn main() {
    let (tx, rx) = gmp::chan::<i32>(1);
    drop(tx);
    for v in rx {
        println!("{v}");
    }
}
