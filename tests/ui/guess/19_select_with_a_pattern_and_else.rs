// target: compiles: `select!` takes patterns that may not match. Issue: Nothing is missing.
#[gmp::main]
async fn main() {
    let (tx, rx) = gmp::chan::<i32>(1);
    drop(tx);
    gmp::select! {
        Ok(v) = rx.recv() => println!("{v}"),
        else => println!("closed"),
    }
}
