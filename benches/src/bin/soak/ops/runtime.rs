//! Runtimes that start, change their size and end while others run.

use crate::bounds::{SHUTDOWN_LIMIT, THREAD_KEEP_ALIVE};
use crate::context::Cx;
use crate::coverage::{End, did};
use crate::home::{From, Home, Lifetime};
use crate::options::Options;
use crate::table::{Drawn, draw_portable};
use crate::violation::violation;
use crate::world::the_world;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns the largest `max_procs` that a runtime of the run gets.
pub(crate) fn largest_size(options: &Options) -> usize {
    (2 * options.procs).max(4)
}

/// Changes the number of Ps of a runtime.
pub(crate) async fn resize(mut cx: Cx) {
    let procs = 1 + cx.rand.size(largest_size(&the_world().options));
    let changed = match cx.rand.below(2) {
        0 => gmp::set_max_procs(procs),
        _ => cx.rand.pick(&the_world().homes).handle.set_max_procs(procs),
    };
    match changed {
        Ok(1..) => did("set_max_procs", End::Ok),
        other => violation(format!("set_max_procs({procs}) returned {other:?}")),
    }
    for bad in [0, 100_000] {
        if gmp::set_max_procs(bad).is_ok() {
            violation(format!("set_max_procs({bad}) succeeded"));
        }
    }
    did("set_max_procs", End::Error);
}

/// A runtime lives for some milliseconds with random operations, and ends in the middle of them.
pub(crate) async fn life(mut cx: Cx) {
    let inner = cx.fork();
    let ended = gmp::spawn_blocking(move || run(inner));
    // If this operation is aborted, the closure runs on and ends by itself.
    let _ = ended.await;
}

fn build(cx: &mut Cx) -> gmp::Runtime {
    let built = gmp::runtime::Builder::new()
        .max_procs(1 + cx.rand.size(4))
        .adaptive_procs(cx.rand.once_in(2))
        .max_blocking_threads(512)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .thread_stack_size(1 << 20)
        .panic_policy(gmp::runtime::PanicPolicy::Contain)
        .name("guest")
        .build();
    did("Builder::build", if built.is_ok() { End::Ok } else { End::Error });
    built.unwrap_or_else(|error| violation(format!("a runtime is not built: {error}")))
}

fn run(mut cx: Cx) {
    let runtime = build(&mut cx);
    let name = format!("guest {}", NEXT.fetch_add(1, Relaxed));
    let home = Home::new(&name, Lifetime::Guest, runtime.handle().clone());
    let world = the_world();
    world.guests.lock().push(home.clone());
    for _ in 0..1 + cx.rand.below(4) {
        let inner = Cx { home: home.clone(), rand: cx.rand.fork(), commons: cx.commons.clone() };
        home.spawn(From::Elsewhere, &mut cx.rand, load(inner)).handle.detach();
    }
    let end = Instant::now() + cx.rand.micros(30_000);
    while Instant::now() < end {
        let _ = home.handle.set_max_procs(1 + cx.rand.size(4));
        std::thread::sleep(Duration::from_millis(3));
    }
    if cx.rand.once_in(3) {
        drop(runtime);
        did("drop of a Runtime", End::Ok);
        // A drop waits for at most a second, so goroutines may end after it.
        let limit = Instant::now() + SHUTDOWN_LIMIT;
        while !home.census.count().is_balanced() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    } else if let Err(error) = runtime.shutdown(SHUTDOWN_LIMIT) {
        violation(format!("shutdown of {name}: {error}"));
    } else {
        did("Runtime::shutdown", End::Ok);
    }
    let count = home.census.count();
    if !count.is_balanced() {
        violation(format!("{name} has ended, its goroutines have not: {count:?}"));
    }
    let mut guests = world.guests.lock();
    guests.retain(|guest| guest.name != home.name);
    drop(guests);
    let mut past = world.past.lock();
    *past = past.plus(count);
}

/// Draws operations until the runtime ends.
async fn load(mut cx: Cx) {
    for _ in 0..10_000 {
        let inner = cx.fork();
        let Drawn { operation, .. } = draw_portable(&mut cx.rand);
        operation(inner).await;
        gmp::yield_now().await;
    }
}

/// A sleep that is made on a runtime that has ended is over in time.
pub(crate) async fn sleep_on_ended_runtime(cx: Cx) {
    drop(cx);
    let done = gmp::spawn_blocking(|| {
        let Ok(runtime) = gmp::Runtime::new() else { violation("a runtime is not built") };
        let handle = runtime.handle().clone();
        drop(runtime);
        handle.block_on(gmp::sleep(Duration::from_millis(1)));
    });
    let _ = done.await;
    did("sleep on an ended runtime", End::Ok);
}

/// Goroutines that are spawned while their runtime ends are cancelled.
pub(crate) async fn spawn_during_shutdown(mut cx: Cx) {
    let spin = cx.rand.below(1000);
    let done = gmp::spawn_blocking(move || {
        let Ok(runtime) = gmp::runtime::Builder::new().max_procs(1).build() else {
            violation("a runtime is not built")
        };
        let handle = runtime.handle().clone();
        let late = std::thread::spawn(move || {
            for _ in 0..20 {
                handle
                    .spawn(async {
                        loop {
                            gmp::yield_now().await
                        }
                    })
                    .detach();
            }
        });
        for _ in 0..spin {
            std::hint::spin_loop();
        }
        let ended = runtime.shutdown(SHUTDOWN_LIMIT);
        if let Err(error) = ended {
            violation(format!("late goroutines keep a runtime alive: {error}"));
        }
        let _ = late.join();
    });
    let _ = done.await;
    did("spawn during shutdown", End::Cancelled);
}
