//! Loops with checks do what they do without.

use std::collections::BTreeMap;
use std::sync::Mutex;

#[gmp::preemptible]
mod loops {
    use super::{BTreeMap, Mutex};

    pub(crate) async fn values() {
        let mut n = 0;
        let found = loop {
            n += 1;
            if n == 5 {
                break n * 2;
            }
        };
        assert_eq!(found, 10);
        let text: Box<dyn Fn() -> u8> = 'outer: loop {
            loop {
                break 'outer Box::new(|| 7);
            }
        };
        assert_eq!(text(), 7);
    }

    pub(crate) async fn labels() -> Vec<(u32, u32)> {
        let mut seen = Vec::new();
        'rows: for row in 0..10 {
            'columns: for column in 0.. {
                match (row, column) {
                    (1, 2) => continue 'rows,
                    (3, _) => break 'rows,
                    (_, 1) => continue,
                    (_, 4) => break,
                    (_, 3) => continue 'columns,
                    _ => seen.push((row, column)),
                }
            }
        }
        seen
    }

    pub(crate) async fn patterns(map: &BTreeMap<u32, String>) -> usize {
        let mut total: usize = 0;
        for (key, value) in map {
            total += *key as usize + value.len();
        }
        for Ok(n) | Err(n) in [Ok(1), Err(2)] {
            total += n;
        }
        for (n, _) in [(1, 'a'), (2, 'b')].into_iter().enumerate() {
            std::future::ready(()).await;
            total += n;
        }
        total
    }

    // The guard is a temporary of the condition: it must not live across the check.
    pub(crate) async fn queue(queue: &Mutex<Vec<u32>>) -> u32 {
        let mut sum = 0;
        while let Some(n) = queue.lock().unwrap().pop() {
            sum += n;
        }
        sum
    }

    // The item is not `Send`, and does not live across the check.
    pub(crate) async fn items() -> u32 {
        let mut sum = 0;
        for n in 0..10 {
            let n = std::rc::Rc::new(n);
            sum += *n;
        }
        for n in (0..10).map(std::rc::Rc::new) {
            sum += *n;
        }
        sum
    }

    pub(crate) async fn early(numbers: &[i64]) -> Result<i64, String> {
        let mut product = 1i64;
        for n in numbers {
            if *n < 0 {
                return Err(format!("{n} is negative"));
            }
            product = product.checked_mul(*n).ok_or("too large")?;
        }
        Ok(product)
    }

    pub(crate) async fn never(limit: u32) -> u32 {
        let mut n = 0;
        loop {
            n += 1;
            if n == limit {
                return n;
            }
        }
    }

    pub(crate) async fn unread() {
        let mut last = 0;
        for n in 0..3 {
            last = n;
            std::hint::black_box(last);
        }
        let mut spare = 1;
        while spare < 100 {
            let n = spare;
            spare = 2 * n;
        }
        let _ = last;
    }

    #[allow(clippy::needless_range_loop)]
    pub(crate) async fn matrix(a: &[[f64; 3]; 3]) -> f64 {
        let mut trace = 0.0;
        for row in 0..3 {
            for column in 0..3 {
                if row == column {
                    trace += a[row][column];
                }
            }
        }
        trace
    }

    pub(crate) async fn generic<I: IntoIterator<Item = T>, T: Copy + std::ops::AddAssign>(
        items: I,
        mut sum: T,
    ) -> T {
        for item in items {
            sum += item;
        }
        sum
    }

    pub(crate) async fn ranges(limit: u8) -> (usize, i32, u64) {
        let (mut a, mut b, mut c) = (0, 0, 0);
        let table = [1usize, 2, 3, 4];
        for n in 0..table.len() {
            a += table[n] * n;
        }
        for n in (0..=10).rev().step_by(2) {
            b += n;
        }
        for n in 0..=limit {
            c += n as u64;
        }
        (a, b, c)
    }
}

struct Counter(u32);

#[gmp::preemptible]
impl Counter {
    fn plain(&self) -> u32 {
        let mut n = 0;
        while n < self.0 {
            n += 1;
        }
        n
    }

    async fn count(&mut self, until: u32) -> u32 {
        while self.0 < until {
            self.0 += 1;
        }
        self.plain()
    }
}

fn send<F: std::future::Future + Send>(future: F) -> F {
    future
}

#[gmp::preemptible]
#[gmp::main(max_procs = 1)]
async fn main() {
    loops::values().await;
    assert_eq!(loops::labels().await, [(0, 0), (0, 2), (1, 0), (2, 0), (2, 2)]);
    let map = BTreeMap::from([(1, "one".to_owned()), (2, "two".to_owned())]);
    assert_eq!(send(loops::patterns(&map)).await, 9 + 3 + 1);
    assert_eq!(send(loops::queue(&Mutex::new(vec![1, 2, 3]))).await, 6);
    assert_eq!(send(loops::items()).await, 90);
    assert_eq!(send(loops::early(&[2, 3])).await, Ok(6));
    assert_eq!(loops::early(&[2, -3]).await, Err("-3 is negative".to_owned()));
    assert_eq!(loops::early(&[i64::MAX, 3]).await, Err("too large".to_owned()));
    assert_eq!(loops::never(7).await, 7);
    loops::unread().await;
    assert_eq!(loops::matrix(&[[1.0; 3]; 3]).await, 3.0);
    assert_eq!(loops::generic([1.5, 2.5], 1.0).await, 5.0);
    assert_eq!(loops::ranges(10).await, (20, 30, 55));
    assert_eq!(Counter(2).count(9).await, 9);
    let block = gmp::preemptible_block!(async move { loop { break 5 } });
    assert_eq!(block.await, 5);
}
