// target: compiles. Met.
use std::time::Duration;

#[gmp::main]
async fn main() {
    let (_tx, rx) = gmp::chan::<i32>(1);
    gmp::select! {
        v = rx.recv() => println!("{v:?}"),
        _ = gmp::time::after(Duration::from_millis(1)) => println!("nothing came"),
    }
}
