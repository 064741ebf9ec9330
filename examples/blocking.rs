//! A goroutine that blocks its thread does not stop the others, even with one P.

use gmp::go;
use std::time::{Duration, Instant};

#[gmp::main(max_procs = 1)]
async fn main() {
    let start = Instant::now();
    let blocked = go!({
        gmp::block_in_place(|| std::thread::sleep(Duration::from_millis(200)));
        println!("{:>4} ms: the blocking call is over", start.elapsed().as_millis());
    });
    for n in 1..=4 {
        gmp::sleep(Duration::from_millis(20)).await;
        println!("{:>4} ms: tick {n}", start.elapsed().as_millis());
    }
    blocked.await.unwrap();
}
