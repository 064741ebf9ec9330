//! A fixed number of workers take jobs from one channel and put results into another.

use gmp::{WaitGroup, chan, go};

const WORKERS: usize = 4;
const JOBS: u64 = 20;

/// Returns the number of Collatz steps from `n` to 1.
fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[gmp::main]
async fn main() {
    let (jobs, todo) = chan(WORKERS);
    let (results, done) = chan(WORKERS);
    let workers = WaitGroup::new();
    for worker in 0..WORKERS {
        let (todo, results) = (todo.clone(), results.clone());
        workers.go(async move {
            // Ends when the channel is closed and empty.
            while let Ok(n) = todo.recv().await {
                results.send((worker, n, collatz(n))).await.unwrap();
            }
        });
    }
    go!({
        for n in 1..=JOBS {
            jobs.send(n).await.unwrap();
        }
        // The only sender is dropped here. This closes the channel, and the workers end.
    });
    // The workers have their own senders. When the workers end, the loop below ends.
    drop(results);
    let mut count = 0;
    while let Ok((worker, n, steps)) = done.recv().await {
        println!("worker {worker}: {n} takes {steps} steps");
        count += 1;
    }
    workers.wait().await;
    assert_eq!(count, JOBS);
}
