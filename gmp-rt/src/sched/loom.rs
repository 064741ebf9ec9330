//! Models of the scheduler: the shipped `Sched`, Ps, queues, Ms and goroutines on threads of loom.
//!
//! A model makes a registered runtime without threads of the OS and runs `m_main` on threads of
//! loom. Goroutines are real. A goroutine that must not wait for others blocks its thread on an
//! [`Event`]; if a wake-up is lost, all threads wait, and loom reports a deadlock. Only the part
//! of a model between `explore` and `stop_exploring` is explored, with the number of preemptions
//! that its first argument says. The end comes after the last access of the race: loom goes back
//! to an earlier access only when it meets a later one that depends on it. `prim` lists what
//! differs from the shipped code.
//!
//! # What no model here covers
//!
//! - Starting threads: loom has no threads that can fail to start. `tests/it` covers it.
//! - The registry: a lock around `Weak` pointers of std, which loom does not see into. All models
//!   look up their runtime there. The stress tests and the sanitizers cover it.
//! - Sysmon's rounds: they depend on real time and on `/proc`. The models call what a round does:
//!   `handoffp`, `startm`, `sleep_deep`.
//! - Resizing: `set_procs` against an M that retires needs more preemptions than the time for a
//!   model allows. The assertions of every model check that no P is lost.
//! - [`GlobQ`](super::globq) without its lock: the length alone is read without it, and is
//!   modelled.
//!
//! # Mutations
//!
//! Each was made to the shipped code and seen to fail in the model beside it.
//!
//! | mutation | model |
//! |----------|-------|
//! | no fence in `IdleWord::wake_wanted` | `external_spawn_vs_park`, `local_put_vs_park` |
//! | no fence in `IdleWord::wake_wanted` | `external_wake_vs_park`, `close_vs_external_wake` |
//! | no fence in `IdleWord::wake_wanted` | `token_given_up_vs_external_spawn` |
//! | no fence in `IdleWord::fence_before_recheck` | `external_spawn_vs_park` |
//! | no fence in `IdleWord::fence_before_recheck` | `token_given_up_vs_external_spawn` |
//! | no fence in `IdleWord::stop_spinning` | `external_spawn_vs_last_spinner_that_found_work` |
//! | `Worker::sleep_in_pool` does not check the queues | `external_spawn_vs_park` |
//! | `Worker::sleep_in_pool` does not check the queues | `external_wake_vs_park` |
//! | `Worker::sleep_in_pool` does not check the timers | `external_timer_vs_park` |
//! | `ensure_timer_sleeper` does not wake the M that it found | `external_timer_vs_park` |
//! | `stop_spinning` does not check the queues | `external_spawn_vs_last_spinner_that_found_work` |
//! | `inject` wakes before it queues | `external_spawn_vs_park` |
//! | `inject` wakes before it queues | `close_vs_external_wake` |
//! | `Local::runqput` wakes before it queues | `local_put_vs_park` |
//! | `M::grant` wakes before it hands over | `external_spawn_vs_park` |
//! | `M::grant` wakes before it hands over | `hand_off_vs_blocked_poll` |
//! | no fence in `close` | `close_vs_local_spawn` |
//! | an M that goes to sleep does not reap | `close_vs_local_spawn` |
//! | `inject` does not check `closing` | `close_vs_external_spawn` |
//! | `cancel_queued` does nothing | `close_vs_external_spawn` |
//! | `stop` wakes no M | `close_vs_last_end` |
//! | `reap` does not stop the threads | `close_vs_last_end` |
//! | `schedule_sysmon_wake` does nothing | `sysmon_sleep_vs_first_p`, `sysmon_sleeps_on_vs_first_p` |
//! | `stopm` does not notice that its P was handed off | `hand_off_vs_end_of_poll` |
//! | `reactivate_p` leaves the status | `hand_off_vs_end_of_poll` |
//! | `live` reads what was spawned before what has ended | `count_vs_spawn_and_end` |
//! | `handoffp` wakes no M | `hand_off_vs_blocked_poll` |
//! | `runqput` does not requeue after a hand-off | `hand_off_vs_push` |
//! | `handoffp` steals before it changes the status | `hand_off_vs_push` |
//! | `reactivate_p` loses the P that it replaces | `hand_off_vs_end_of_poll` |
//! | sysmon sleeps deeply while a P runs | `sysmon_sleep_vs_first_p` |
//! | sysmon sleeps deeply while a P runs | `sysmon_sleeps_on_vs_first_p` |
//! | sysmon sleeps deeply while work is queued | `sysmon_sleep_vs_refused_thread` |
//! | `schedule_sysmon_wake` sets the alarm after it has released the lock | `sysmon_sleep_vs_first_p` |
//! | `schedule_sysmon_wake` sets the alarm after it has released the lock | `sysmon_sleeps_on_vs_first_p` |
//! | `take_back` does not wake sysmon | `sysmon_sleep_vs_refused_thread` |
//! | `take_back` does not wake sysmon | `sysmon_sleep_vs_two_refused_submitters` |
//! | `wait_for_p` without its fence | `way_back_vs_park` |
//! | `wait_for_p` does not check for an idle P | `way_back_vs_park` |
//! | `refuse` gives no P to a returning M | `way_back_vs_hand_off_without_a_thread` |
//! | `take_back` does not check for a returning M | `way_back_vs_hand_off_without_a_thread` |
//!
//! These change nothing that a program can see. `retire_p` without its `wakep`, or with the `wakep`
//! first: the M checks all queues in `sleep_in_pool` right after. `IdleWord::add_idle` in two
//! steps: the fence and the check of the queues come after both. `stop` without its second check of
//! `live`: an M that is still in the pool takes the late goroutine. `cancel_sysmon_wake` without
//! its check of `all_idle`: the M that takes the P schedules sysmon's wake-up again in `acquire_p`.
//!
//! No model finds a missing barrier in `handoffp`, or a missing fence in `sleep_deep`: here the
//! lock of the idle lists, which each of them has taken just before, has a fence.
//!
//! No model finds these either: `startm` gives up its token without a check of the queues, and
//! `cancel_sysmon_wake` clears the alarm without a change of the state. They need more preemptions
//! than the time for a model allows.
//!
//! The models have no time, and here sysmon sleeps without an alarm. That the alarm is set as the
//! state says is asserted at each release of the lists' lock
//! ([`DeepSleep::assert_set`](crate::sysmon::deep_sleep::DeepSleep::assert_set)).

use super::handoff;
use super::local;
use super::run::m_main;
use super::{Config, Sched, registry};
use crate::api::runtime::context;
use crate::api::time::Alarm;
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::m::Grant;
use crate::p::{P, PStatus};
use crate::prim::{self, advance_clock};
use crate::sysmon::Sysmon;
use crate::sysmon::deep_sleep::SysmonState;
use crate::tuning::SYSMON_MAX_NAP;
use crate::util::clock;
use ::loom::future::block_on;
use ::loom::sync::{Condvar, Mutex};
use ::loom::thread;
use ::loom::{explore, stop_exploring};
use std::future::poll_fn;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// Stack of a thread of the models, in words. Loom's default is 32 KiB.
const STACK_WORDS: usize = 32 * 1024;

/// Runs `f` for every interleaving of its part between [`explore`] and [`stop_exploring`] that
/// has at most `preemptions` preemptions. `LOOM_MAX_PREEMPTIONS` overrides that number.
fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 10_000;
    builder.expect_explicit_explore = true;
    let f = Arc::new(f);
    builder.check(move || {
        let f = f.clone();
        spawn(move || f()).join().unwrap();
    });
}

/// Starts a thread whose stack is large enough for a scheduler.
fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(STACK_WORDS).spawn(f).unwrap()
}

/// A registered runtime, and the Ms that were started for it.
struct Runtime {
    sched: Arc<Sched>,
    ms: Vec<thread::JoinHandle<()>>,
}

impl Runtime {
    /// Makes a runtime of `procs` Ps without Ms.
    fn new(procs: usize) -> Self {
        // No thread of the OS is ever started: the thread limit is reached from the beginning.
        let config = Config { procs, thread_limit: 0, ..Config::default() };
        let sched = registry::register(|id| Sched::new(id, config)).unwrap();
        // The limit is not reported in each execution of a model.
        *sched.threads.refusal_reported.lock() = true;
        Self { sched, ms: Vec::new() }
    }

    /// Starts an M as `start_thread` does, on a thread of loom. The M spins first.
    fn start_m(&mut self) {
        let token = self.sched.idle.word.spin_unconditionally();
        let (p, id) = self.sched.idle.with(|lists| {
            lists.threads.count += 1;
            (self.sched.idle.take_p(lists).unwrap(), lists.threads.count)
        });
        let sched = self.sched.clone();
        self.ms.push(spawn(move || m_main(sched, id, Grant { p, token })));
    }

    /// Starts an M and waits until it sleeps.
    fn start_sleeping_m(&mut self) {
        self.start_m();
        while self.sched.idle.with(|lists| lists.pool.len()) < self.ms.len() {
            thread::yield_now();
        }
    }

    /// Sets an alarm that does not go off, so that an M sleeps for it.
    fn set_far_alarm(&self) -> Alarm {
        let at = prim::now() + Duration::from_secs(3600);
        context::enter(&self.sched, || Alarm::at(at, Waker::noop()))
    }

    /// Starts a goroutine from a thread without a P.
    fn go<T: Send + 'static>(&self, f: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.sched.spawn_outside(f, origin())
    }

    /// Returns a running P.
    fn running_p(&self) -> Option<Arc<P>> {
        let is_running = |p: &&Arc<P>| p.status() == PStatus::Running;
        self.sched.idle.with(|lists| lists.ps.active().find(is_running).cloned())
    }

    /// Closes the runtime and waits for its Ms.
    fn end(self) {
        self.sched.close();
        self.join();
    }

    /// Waits for the Ms of a runtime that was closed.
    fn join(self) {
        self.ms.into_iter().for_each(|m| m.join().unwrap());
        assert_eq!(self.sched.live(), 0, "goroutines are left");
        let (rights, procs, active, handed_off) = self.sched.idle.with(|lists| {
            let ps = &lists.ps;
            (
                lists.quota.active,
                lists.quota.target,
                ps.active().count(),
                ps.owned().count() - ps.active().count(),
            )
        });
        let counts = self.sched.idle.word.counts();
        assert_eq!(counts, (rights, 0), "an active P or a spinning token is lost");
        assert_eq!(rights, procs, "the number of active Ps is wrong");
        assert_eq!((active, handed_off), (rights, 0), "a number or a handed-off P is lost");
    }
}

fn origin() -> Origin {
    Origin::site_only(Location::caller())
}

/// Starts a goroutine from a goroutine.
fn go<T: Send + 'static>(f: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    local::with(|local| local.unwrap().spawn(f, origin()))
}

/// Something that happens once; waiting for it blocks the thread.
#[derive(Clone, Default)]
struct Event(Arc<(Mutex<bool>, Condvar)>);

impl Event {
    fn set(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    fn wait(&self) {
        let mut is_set = self.0.0.lock().unwrap();
        while !*is_set {
            is_set = self.0.1.wait(is_set).unwrap();
        }
    }
}

impl Wake for Event {
    fn wake(self: Arc<Self>) {
        self.set();
    }
}

/// The only M goes to sleep while an external thread spawns a goroutine.
#[test]
fn loom_external_spawn_vs_park() {
    model(3, || {
        let mut runtime = Runtime::new(1);
        explore();
        runtime.start_m();
        let main = runtime.go(async {});
        block_on(main).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// A goroutine fills the ring of its P and then blocks its thread, while an M goes to sleep.
#[test]
fn loom_local_put_vs_park() {
    model(1, || {
        let mut runtime = Runtime::new(2);
        let (started, go_on) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), go_on.clone());
        runtime.start_sleeping_m();
        let main = runtime.go(async move {
            starts.set();
            waits.wait();
            let ran = Event::default();
            let first = ran.clone();
            go(async move { first.set() });
            // Moves the first from `runnext` to the ring.
            go(async {});
            ran.wait();
        });
        started.wait();
        explore();
        runtime.start_m();
        go_on.set();
        block_on(main).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// The only spinning M finds a goroutine, while an external thread spawns another and a P is idle.
/// The goroutine that was found blocks its thread until the other has run.
#[test]
fn loom_external_spawn_vs_last_spinner_that_found_work() {
    model(1, || {
        let mut runtime = Runtime::new(2);
        let ran = Event::default();
        let awaited = ran.clone();
        runtime.start_sleeping_m();
        explore();
        runtime.start_m();
        let first = runtime.go(async move { awaited.wait() });
        let _second = runtime.go(async move { ran.set() });
        block_on(first).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// Sysmon claims a spinning token to wake an M and finds no idle P, while an external thread
/// spawns a goroutine and relies on the token, and the only M goes to sleep.
#[test]
fn loom_token_given_up_vs_external_spawn() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        let (started, go_on) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), go_on.clone());
        runtime.start_sleeping_m();
        runtime.go(async move {
            starts.set();
            waits.wait();
        });
        started.wait();
        explore();
        go_on.set();
        let sched = runtime.sched.clone();
        let sysmon = spawn(move || {
            let _ = sched.startm(sched.idle.word.spin_unconditionally());
        });
        let main = runtime.go(async {});
        block_on(main).unwrap();
        sysmon.join().unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// The only M goes to sleep while an external thread sets a timer.
#[test]
fn loom_external_timer_vs_park() {
    model(3, || {
        let mut runtime = Runtime::new(1);
        let rang = Event::default();
        let waker = Waker::from(Arc::new(rang.clone()));
        explore();
        runtime.start_m();
        let alarm = context::enter(&runtime.sched, || {
            let soon = clock::instant(clock::after(Duration::from_micros(50))).unwrap();
            Alarm::at(soon, &waker)
        });
        rang.wait();
        stop_exploring();
        drop(alarm);
        runtime.end();
    });
}

/// An external thread wakes a goroutine while its M parks it and goes to sleep.
#[test]
fn loom_external_wake_vs_park() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        let (slot, polled) = (Arc::<Mutex<Option<Waker>>>::default(), Event::default());
        let (shared, polls_once) = (slot.clone(), polled.clone());
        let mut polls = 0;
        runtime.start_sleeping_m();
        let main = runtime.go(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            *shared.lock().unwrap() = Some(cx.waker().clone());
            polls_once.set();
            explore();
            Poll::Pending
        }));
        polled.wait();
        let waker = slot.lock().unwrap().take().unwrap();
        waker.wake();
        block_on(main).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// A goroutine ends while an external thread closes its runtime: the M exits.
#[test]
fn loom_close_vs_last_end() {
    model(3, || {
        let mut runtime = Runtime::new(1);
        let (started, go_on) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), go_on.clone());
        runtime.start_sleeping_m();
        runtime.go(async move {
            starts.set();
            waits.wait();
        });
        started.wait();
        explore();
        go_on.set();
        runtime.end();
    });
}

/// A goroutine spawns one that waits for ever, while an external thread closes the runtime.
#[test]
fn loom_close_vs_local_spawn() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        let (started, go_on) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), go_on.clone());
        runtime.start_sleeping_m();
        runtime.go(async move {
            starts.set();
            waits.wait();
            go(std::future::pending::<()>());
        });
        started.wait();
        explore();
        go_on.set();
        runtime.end();
    });
}

/// An external thread spawns a goroutine that waits for ever, while another closes the runtime.
#[test]
fn loom_close_vs_external_spawn() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        runtime.start_sleeping_m();
        let sched = runtime.sched.clone();
        explore();
        let other = spawn(move || {
            let handle = sched.spawn_outside(std::future::pending::<()>(), origin());
            assert!(block_on(handle).is_err(), "not cancelled");
        });
        runtime.sched.close();
        other.join().unwrap();
        runtime.join();
    });
}

/// An external thread wakes a parked goroutine, while another closes the runtime.
#[test]
fn loom_close_vs_external_wake() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        let (slot, polled) = (Arc::<Mutex<Option<Waker>>>::default(), Event::default());
        let (shared, polls) = (slot.clone(), polled.clone());
        runtime.start_sleeping_m();
        runtime.go(poll_fn(move |cx| {
            *shared.lock().unwrap() = Some(cx.waker().clone());
            polls.set();
            Poll::<()>::Pending
        }));
        polled.wait();
        let waker = slot.lock().unwrap().take().unwrap();
        explore();
        let other = spawn(move || waker.wake());
        runtime.end();
        other.join().unwrap();
    });
}

/// A goroutine is spawned and ends while another thread counts: one that lives is always counted.
#[test]
fn loom_count_vs_spawn_and_end() {
    model(3, || {
        let sched = Runtime::new(1).sched;
        sched.live.add_spawned();
        let other = sched.clone();
        explore();
        let ends = spawn(move || {
            other.live.add_spawned();
            other.live.add_finished();
        });
        let live = sched.live();
        assert!(live == 1 || live == 2, "{live} goroutines are counted");
        ends.join().unwrap();
        stop_exploring();
    });
}

/// Sysmon hands off the P of a goroutine whose poll ends at the same time. What the goroutine
/// queued on its P runs, and no P is lost.
#[test]
fn loom_hand_off_vs_end_of_poll() {
    model(1, || {
        let mut runtime = Runtime::new(2);
        let (started, queued) = (Event::default(), Arc::<Mutex<Vec<JoinHandle<()>>>>::default());
        let (starts, queues) = (started.clone(), queued.clone());
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        // One M has no P.
        runtime.sched.set_procs(1).unwrap();
        runtime.go(async move {
            *queues.lock().unwrap() = vec![go(async {}), go(async {})];
            starts.set();
            explore();
        });
        started.wait();
        if let Some(p) = runtime.running_p() {
            runtime.sched.handoffp(&p, || true);
        }
        let queued = std::mem::take(&mut *queued.lock().unwrap());
        queued.into_iter().for_each(|handle| block_on(handle).unwrap());
        stop_exploring();
        runtime.end();
    });
}

/// A goroutine blocks its thread until another goroutine, which it queued, has run. Sysmon hands
/// off its P.
#[test]
fn loom_hand_off_vs_blocked_poll() {
    model(1, || {
        let mut runtime = Runtime::new(2);
        let (started, ran) = (Event::default(), Event::default());
        let starts = started.clone();
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        // One M has no P.
        runtime.sched.set_procs(1).unwrap();
        let main = runtime.go(async move {
            let first = ran.clone();
            go(async move { first.set() });
            // Moves the first from `runnext` to the ring.
            go(async {});
            starts.set();
            explore();
            ran.wait();
        });
        started.wait();
        let p = runtime.running_p().unwrap();
        assert!(runtime.sched.handoffp(&p, || true));
        block_on(main).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// Sysmon hands off the P of a goroutine that queues another one and blocks its thread until that
/// one runs.
#[test]
fn loom_hand_off_vs_push() {
    model(1, || {
        let mut runtime = Runtime::new(2);
        let (started, ran) = (Event::default(), Event::default());
        let starts = started.clone();
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        // One M has no P.
        runtime.sched.set_procs(1).unwrap();
        let main = runtime.go(async move {
            starts.set();
            explore();
            let first = ran.clone();
            go(async move { first.set() });
            // Moves the first from `runnext` to the ring.
            go(async {});
            ran.wait();
        });
        started.wait();
        let p = runtime.running_p().unwrap();
        assert!(runtime.sched.handoffp(&p, || true));
        block_on(main).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// The marked call of a goroutine returns, while the M with the only P goes to sleep.
#[test]
fn loom_way_back_vs_park() {
    model(1, || {
        let mut runtime = Runtime::new(1);
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        let returns = start_call(&runtime);
        let (started, ends) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), ends.clone());
        runtime.go(async move {
            starts.set();
            waits.wait();
        });
        started.wait();
        explore();
        ends.set();
        returns.event.set();
        block_on(returns.goroutine).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// The marked call of a goroutine returns, while sysmon hands off the P of another one that blocks
/// its thread until the first has run. No other thread can start.
#[test]
fn loom_way_back_vs_hand_off_without_a_thread() {
    model(1, || {
        let mut runtime = Runtime::new(1);
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        let returns = start_call(&runtime);
        let (started, ran) = (Event::default(), returns.ran.clone());
        let starts = started.clone();
        let blocks = runtime.go(async move {
            // Work for which a thread is wanted. It is before the returning M or behind it.
            go(async {});
            starts.set();
            ran.wait();
        });
        started.wait();
        let p = runtime.running_p().unwrap();
        explore();
        returns.event.set();
        assert!(runtime.sched.handoffp(&p, || true));
        block_on(returns.goroutine).unwrap();
        block_on(blocks).unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// A goroutine in a marked call that returns when `event` is set.
struct InCall {
    event: Event,
    /// Set after the call.
    ran: Event,
    goroutine: JoinHandle<()>,
}

/// Starts a goroutine that makes a marked call, and hands off its P.
fn start_call(runtime: &Runtime) -> InCall {
    let (in_call, event, ran) = (Event::default(), Event::default(), Event::default());
    let (begins, returns, runs) = (in_call.clone(), event.clone(), ran.clone());
    let goroutine = runtime.go(async move {
        handoff::syscall(|| {
            begins.set();
            returns.wait();
        });
        runs.set();
    });
    in_call.wait();
    let p = runtime.running_p().unwrap();
    assert!(runtime.sched.handoffp(&p, || true));
    InCall { event, ran, goroutine }
}

/// Starts sysmon without its rounds: it goes to deep sleep again and again, and sets `awake` when
/// it is awake while `running` is set.
fn start_sysmon(runtime: &Runtime, running: Event, awake: Event) -> thread::JoinHandle<()> {
    let sched = runtime.sched.clone();
    spawn(move || {
        let mut sysmon = Sysmon::new(sched);
        loop {
            let _slept = sysmon.sleep_deep(clock::FOREVER);
            if running.is_set() {
                return awake.set();
            }
            thread::yield_now();
        }
    })
}

/// Starts sysmon as [`start_sysmon`] does. It returns when it is awake while `n` goroutines are
/// queued.
fn start_sysmon_for_queued(runtime: &Runtime, n: usize) -> thread::JoinHandle<()> {
    let sched = runtime.sched.clone();
    spawn(move || {
        let mut sysmon = Sysmon::new(sched.clone());
        loop {
            let _slept = sysmon.sleep_deep(clock::FOREVER);
            if sched.inbox.len() == n {
                return;
            }
            thread::yield_now();
        }
    })
}

/// The OS refuses the thread for a goroutine, while sysmon goes to deep sleep. Sysmon stays awake
/// and can try again: the goroutine runs when a thread can be had.
#[test]
fn loom_sysmon_sleep_vs_refused_thread() {
    model(3, || {
        let mut runtime = Runtime::new(1);
        explore();
        let sysmon = start_sysmon_for_queued(&runtime, 1);
        let main = runtime.go(async {});
        sysmon.join().unwrap();
        stop_exploring();
        runtime.start_m();
        block_on(main).unwrap();
        runtime.end();
    });
}

/// The same with two submitters, one of which relies on the spinning token of the other.
#[test]
fn loom_sysmon_sleep_vs_two_refused_submitters() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        explore();
        let sysmon = start_sysmon_for_queued(&runtime, 2);
        let sched = runtime.sched.clone();
        let other = spawn(move || sched.spawn_outside(async {}, origin()));
        let main = runtime.go(async {});
        sysmon.join().unwrap();
        stop_exploring();
        let other = other.join().unwrap();
        runtime.start_m();
        block_on(main).unwrap();
        block_on(other).unwrap();
        runtime.end();
    });
}

/// A goroutine that blocks its thread starts to run, while sysmon goes to deep sleep.
#[test]
fn loom_sysmon_sleep_vs_first_p() {
    model(2, || {
        let mut runtime = Runtime::new(1);
        runtime.start_sleeping_m();
        let (running, awake) = (Event::default(), Event::default());
        let (runs, watched) = (running.clone(), awake.clone());
        explore();
        let sysmon = start_sysmon(&runtime, running, awake);
        let main = runtime.go(async move {
            runs.set();
            watched.wait();
        });
        block_on(main).unwrap();
        sysmon.join().unwrap();
        stop_exploring();
        runtime.end();
    });
}

/// All Ps go idle again and sysmon's wake-up is cancelled, while a goroutine arrives that blocks
/// its thread.
#[test]
fn loom_sysmon_sleeps_on_vs_first_p() {
    model(1, || {
        // Two Ps: while one of them is idle, sysmon's wake-up can be cancelled.
        let mut runtime = Runtime::new(2);
        let alarm = runtime.set_far_alarm();
        runtime.start_sleeping_m();
        runtime.start_sleeping_m();
        let (running, awake) = (Event::default(), Event::default());
        let (runs, watched) = (running.clone(), awake.clone());
        let sysmon = start_sysmon(&runtime, running, awake);
        while runtime.sched.idle.with(|lists| lists.sysmon) != SysmonState::DeepSleep {
            thread::yield_now();
        }
        // After a deep sleep of this length the next wake-up of sysmon can be cancelled.
        advance_clock(SYSMON_MAX_NAP);
        let (started, go_on) = (Event::default(), Event::default());
        let (starts, waits) = (started.clone(), go_on.clone());
        runtime.go(async move {
            starts.set();
            waits.wait();
        });
        started.wait();
        explore();
        go_on.set();
        let main = runtime.go(async move {
            runs.set();
            watched.wait();
        });
        block_on(main).unwrap();
        sysmon.join().unwrap();
        stop_exploring();
        drop(alarm);
        runtime.end();
    });
}
