//! Threads pass values by a contended mutex and by a channel of std. ThreadSanitizer must report
//! nothing, although the slow path of the mutex and parts of the channel are not instrumented.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

const ROUNDS: usize = 20_000;

fn main() {
    let shared = Arc::new(Mutex::new(vec![0u64; 40]));
    let (tx, rx) = channel();
    let threads = [(); 4].map(|()| {
        let (shared, tx) = (shared.clone(), tx.clone());
        thread::spawn(move || {
            for round in 0..ROUNDS {
                let mut values = shared.lock().unwrap();
                values[round % 40] += 1;
                if round % 100 == 0 {
                    tx.send(std::array::from_fn::<u64, 40, _>(|at| values[at])).unwrap();
                }
            }
        })
    });
    drop(tx);
    let received = rx.iter().filter(|values| values.iter().sum::<u64>() > 0).count();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(shared.lock().unwrap().iter().sum::<u64>(), 4 * ROUNDS as u64);
    assert_eq!(received, 4 * ROUNDS / 100);
}
