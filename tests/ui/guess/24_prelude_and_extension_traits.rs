// target: compiles. Met.
use gmp::prelude::*;
use gmp::io::AsyncReadExt;
use gmp::time::Instant;

#[gmp::main]
async fn main() {
    let start = Instant::now();
    let (tx, rx) = chan(1);
    go!({ tx.send(start).await.unwrap() });
    assert_eq!(rx.recv().await, Ok(start));
    let _ = AsyncReadExt::read(&mut gmp::io::stdin(), &mut [0; 1]).await;
    let _ = gmp::io::duplex(1).0.close().await;
}
