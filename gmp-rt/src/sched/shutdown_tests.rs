//! Shutdowns at instants that a program cannot choose. A failure hangs.

use super::*;
use crate::api::runtime::Builder;
use crate::g::cell::Newborn;
use crate::g::origin::Origin;
use crate::g::{Birth, Ids};
use crate::sched::submit::GmpSchedule;
use crate::sched::{Config, goid, registry};
use std::panic::Location;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Wake, Waker};

const LONG: Duration = Duration::from_secs(3600);

/// Spawns a goroutine as an M does that has not seen that the runtime closes. No thread is woken
/// for it.
fn spawn_late(
    sched: &Sched,
    future: impl Future<Output = ()> + Send + 'static,
) -> crate::JoinHandle<()> {
    let ids = Ids::new(goid::single(), sched.id);
    let birth = Birth { ids, parent: 0, origin: Origin::site_only(Location::caller()) };
    let Newborn { gp, handle } = cell::spawn::<_, GmpSchedule>(future, birth);
    sched.live.add_spawned();
    sched.inbox.put(gp);
    handle
}

/// Thousands of threads may return while a runtime closes. Here there is none, so nothing ends.
#[test]
fn an_m_walks_over_all_goroutines_only_after_a_spawn() {
    let config = Config { thread_limit: 0, ..Config::default() };
    let sched = registry::register(|id| Sched::new(id, config)).unwrap();
    *sched.threads.refusal_reported.lock() = true;
    let spawn = || {
        let site = Origin::site_only(Location::caller());
        sched.spawn_outside(std::future::pending::<()>(), site)
    };
    let first = spawn();
    sched.close();
    assert!(!sched.reap_spawned(), "`close` has walked");
    let late = spawn_late(&sched, std::future::pending());
    assert!(sched.reap_spawned(), "a goroutine was spawned");
    assert!(!sched.reap_spawned(), "none was spawned since");
    sched.idle.with(|lists| lists.stopping = true);
    sched.cancel_queued();
    assert!(crate::block_on(late).unwrap_err().is_cancelled());
    assert!(crate::block_on(first).unwrap_err().is_cancelled());
    drop(spawn());
    assert!(!sched.reap_spawned(), "no goroutine lives");
}

/// `close` misses a goroutine that an M spawns at the same time. Sysmon aborts it. No M does: one
/// is stuck, and the other one runs the goroutine and never sleeps.
#[test]
fn sysmon_reaps_a_goroutine_that_close_missed() {
    let runtime = Builder::new().max_procs(2).build().unwrap();
    let sched = runtime.sched().clone();
    let (release, waits) = mpsc::channel::<()>();
    let (started, starts) = mpsc::channel();
    let stuck = runtime.spawn(async move {
        started.send(()).unwrap();
        let _ = waits.recv();
    });
    starts.recv().unwrap();
    // Another goroutine makes the second M start, which then sleeps.
    crate::block_on(runtime.spawn(async {})).unwrap();
    sched.close();
    let handle = spawn_late(&sched, async {
        loop {
            crate::yield_now().await;
        }
    });
    sched.wakep();
    assert!(crate::block_on(handle).unwrap_err().is_cancelled());
    drop(release);
    crate::block_on(stuck).unwrap();
    runtime.shutdown(LONG).unwrap();
}

/// A waker that sleeps when its runtime stops and all other Ms have exited.
struct SleepAtStop(Arc<Sched>);

impl Wake for SleepAtStop {
    fn wake(self: Arc<Self>) {
        while !self.0.idle.with(|lists| lists.stopping && lists.threads.count == 1) {
            thread::yield_now();
        }
        crate::block_on(crate::sleep(Duration::from_millis(20)));
    }
}

/// The last goroutine has ended, but its M still runs the waker of the joiner. Sysmon fires the
/// timer: no other thread is left.
#[test]
fn the_last_thread_may_wait_for_a_timer() {
    let runtime = Builder::new().max_procs(2).build().unwrap();
    let waker = Waker::from(Arc::new(SleepAtStop(runtime.sched().clone())));
    let (release, waits) = mpsc::channel::<()>();
    let mut joined = pin!(runtime.spawn(async move { assert!(waits.recv().is_err()) }));
    assert!(joined.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(release);
    while runtime.sched().live() > 0 {
        thread::yield_now();
    }
    runtime.shutdown(LONG).unwrap();
}
