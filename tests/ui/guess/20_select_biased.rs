// target: compiles, and tries the cases in their order. Met.
#[gmp::main]
async fn main() {
    let (_tx, rx) = gmp::chan::<i32>(1);
    gmp::select! {
        biased;
        v = rx.recv() => println!("{v:?}"),
    }
}
