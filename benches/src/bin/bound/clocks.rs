//! What each thread of the runtime has done: polls, CPU time, and waits for a CPU.
//!
//! Each goroutine of this program runs inside [`counted`], so each poll is counted.

use gmp_rt::dev_hooks::{this_thread, thread_cpu};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The counters of one thread.
#[derive(Debug)]
struct Clock {
    thread: u32,
    /// Written by this thread only.
    polls: AtomicU64,
}

/// The counters of all threads that have polled a goroutine.
static CLOCKS: Mutex<Vec<Arc<Clock>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Arc<Clock> = {
        let clock = Arc::new(Clock { thread: this_thread(), polls: AtomicU64::new(0) });
        CLOCKS.lock().push(clock.clone());
        clock
    };
}

/// Counts each poll of `future`.
pub(crate) fn counted<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let mut future = Box::pin(future);
    poll_fn(move |cx| {
        // Relaxed: a count, which only this thread changes.
        OWN.with(|clock| clock.polls.store(clock.polls.load(Relaxed) + 1, Relaxed));
        future.as_mut().poll(cx)
    })
}

/// The state of all threads at an event.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) at: Instant,
    threads: Vec<State>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    thread: u32,
    polls: u64,
    /// CPU time in nanoseconds.
    cpu: u64,
    /// Time that it has waited for a CPU, in nanoseconds.
    delay: u64,
}

/// What the thread of a goroutine has done since an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) polls: u64,
    pub(crate) cpu: Duration,
    pub(crate) time: Duration,
    /// The longest time that one of the threads has waited for a CPU.
    pub(crate) delay: Duration,
    pub(crate) until: Instant,
}

impl Mark {
    /// Reads the clocks of all threads. Forgets threads that have exited.
    pub(crate) fn now() -> Self {
        let mut threads = Vec::new();
        CLOCKS.lock().retain(|clock| {
            let state = clock.state();
            threads.extend(state);
            state.is_some()
        });
        Self { at: Instant::now(), threads }
    }

    /// Returns what the calling thread has done since.
    pub(crate) fn used(&self) -> Used {
        let until = Instant::now();
        let own = OWN.with(|clock| clock.state()).unwrap_or_default();
        let time = until.saturating_duration_since(self.at);
        // A thread whose first goroutine this is has used at most the whole time.
        let unknown = State { cpu: own.cpu.saturating_sub(time.as_nanos() as u64), ..own };
        let before = self.threads.iter().find(|state| state.thread == own.thread);
        let before = before.copied().unwrap_or(unknown);
        let delays = self
            .threads
            .iter()
            .filter_map(|state| delay(state.thread).map(|delay| delay.saturating_sub(state.delay)));
        Used {
            polls: own.polls - before.polls,
            cpu: Duration::from_nanos(own.cpu - before.cpu),
            time,
            delay: Duration::from_nanos(delays.max().unwrap_or_default()),
            until,
        }
    }
}

impl Clock {
    /// Returns the state of the thread. `None` if it has exited.
    fn state(&self) -> Option<State> {
        let (thread, polls) = (self.thread, self.polls.load(Relaxed));
        let cpu = thread_cpu(thread)?;
        Some(State { thread, polls, cpu, delay: delay(thread)? })
    }
}

/// Returns the time that a thread has waited for a CPU, in nanoseconds.
fn delay(thread: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    stat.split_whitespace().nth(1)?.parse().ok()
}

/// Uses `time` of CPU time.
pub(crate) fn compute(time: Duration) {
    if time.is_zero() {
        return;
    }
    let own = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    };
    let end = own() + time;
    while own() < end {
        std::hint::spin_loop();
    }
}
