// target: an error; a search of the documentation for `close` finds `Sender::close`. Met.
#[gmp::main]
async fn main() {
    let (tx, _rx) = gmp::chan::<i32>(1);
    gmp::close(tx);
}
