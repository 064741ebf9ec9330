//! Workers: goroutines and external threads that draw operations until the load is over.

use crate::commons::Commons;
use crate::context::{Cx, abort, join};
use crate::coverage::drew;
use crate::home::{From, Home};
use crate::rand::Rand;
use crate::table::{Drawn, draw};
use crate::trace::Trace;
use crate::violation::violation;
use crate::world::World;
use std::sync::Arc;

/// Worker goroutines of each runtime.
const GOROUTINES: usize = 6;

/// External threads.
pub(crate) const THREADS: usize = 6;

/// The workers of a phase.
#[derive(Debug)]
pub(crate) struct Workers {
    goroutines: Vec<(Home, crate::home::Child<()>)>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// Starts the workers of phase `phase`.
pub(crate) fn start(world: &'static World, commons: &Arc<Commons>, phase: u64) -> Workers {
    let mut number = 0;
    let mut next = |home: &Home| {
        let stream = phase << 16 | number as u64;
        let worker = Worker {
            world,
            trace: world.traces.of(number),
            cx: Cx {
                home: home.clone(),
                rand: Rand::stream(world.options.seed, stream),
                commons: commons.clone(),
            },
        };
        number += 1;
        worker
    };
    let mut workers = Workers { goroutines: Vec::new(), threads: Vec::new() };
    for home in &world.homes {
        for _ in 0..GOROUTINES {
            let worker = next(home);
            let mut rand = Rand::new(phase);
            let child = home.spawn(From::Elsewhere, &mut rand, worker.run());
            workers.goroutines.push((home.clone(), child));
        }
    }
    for n in 0..THREADS {
        let worker = next(&world.homes[n % world.homes.len()]);
        let handle = worker.cx.home.handle.clone();
        workers.threads.push(std::thread::spawn(move || handle.block_on(worker.run())));
    }
    workers
}

impl Workers {
    /// Waits for all workers. The watchdog ends a wait that is too long.
    pub(crate) fn join(self) {
        for (home, child) in self.goroutines {
            if let Err(error) = home.handle.block_on(child.join()) {
                violation(format!("a worker of runtime {} ended with {error}", home.name));
            }
        }
        for thread in self.threads {
            if thread.join().is_err() {
                violation("a worker thread panicked");
            }
        }
    }
}

/// One worker.
struct Worker {
    world: &'static World,
    trace: &'static Trace,
    cx: Cx,
}

impl Worker {
    async fn run(mut self) {
        while !self.world.stopping() {
            let Drawn { index, operation } = draw(&mut self.cx.rand);
            let inner = self.cx.fork();
            let form = self.cx.rand.below(16);
            let mut patience = self.cx.rand.fork();
            self.trace.begin(index);
            match form {
                // As a separate goroutine that is aborted at a random time.
                0 | 1 => {
                    let child =
                        self.cx.spawn_anywhere(|there| operation(Cx { home: there.home, ..inner }));
                    gmp::sleep(patience.micros(3000)).await;
                    abort(&child);
                    join(child).await;
                }
                // The same, dropped by a time limit.
                2 => {
                    let _ = gmp::timeout(patience.micros(3000), operation(inner)).await;
                }
                _ => operation(inner).await,
            }
            self.trace.end();
            drew(index);
        }
    }
}
