// target: compiles. A value that does not match is lost, as the docs say. Met.
#[gmp::main]
async fn main() {
    let (tx, rx) = gmp::chan::<i32>(1);
    drop(tx);
    gmp::select! {
        Ok(v) = rx.recv() => println!("{v}"),
        else => println!("closed"),
    }
}
