//! ErrGroup.

use crate::context::Cx;
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use gmp::context::Context;
use gmp::sync::{ErrGroup, GroupError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The error of a member.
#[derive(Debug)]
struct Failed(usize);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "member {} failed", self.0)
    }
}

/// The counters of the members of a group.
#[derive(Debug, Default)]
struct Tally {
    active: AtomicUsize,
    failures: AtomicUsize,
}

/// Takes a member from the tally when it ends.
struct Leaves(Arc<Tally>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Relaxed);
    }
}

/// A member: succeeds, fails or panics.
async fn member(
    mut cx: Cx,
    tally: Arc<Tally>,
    ctx: Context,
    number: usize,
    limit: Option<usize>,
) -> Result<(), Failed> {
    let now = tally.active.fetch_add(1, Relaxed) + 1;
    let _leaves = Leaves(tally.clone());
    if limit.is_some_and(|limit| now > limit) {
        violation(format!("{now} members run in a group of {limit:?}"));
    }
    cx.pause().await;
    match cx.rand.below(100) {
        0..12 => {
            tally.failures.fetch_add(1, Relaxed);
            Err(Failed(number))
        }
        // Rare, because the runtime reports each of these panics on stderr.
        12 => {
            tally.failures.fetch_add(1, Relaxed);
            expected_panic()
        }
        13..20 => {
            let _ = gmp::timeout(cx.rand.micros(500), ctx.done()).await;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Members succeed, fail and panic. The limit holds, and `wait` returns the first failure.
pub(crate) async fn err_group(mut cx: Cx) {
    let (group, ctx) = ErrGroup::<Failed>::with_context(&Context::background());
    let limit = cx.rand.once_in(2).then(|| 1 + cx.rand.size(3));
    group.set_limit(limit);
    let tally = Arc::new(Tally::default());
    for n in 0..1 + cx.rand.size(6) {
        let inner = cx.fork();
        let member = member(inner, tally.clone(), ctx.clone(), n, limit);
        let member = cx.home.tracked(member);
        match cx.rand.below(3) {
            0 => {
                let started = group.try_go(member).is_ok();
                did("ErrGroup::try_go", if started { End::Ok } else { End::Not });
            }
            1 => {
                group.go_blocking(member);
                did("ErrGroup::go_blocking", End::Ok);
            }
            _ => {
                group.go(member).await;
                did("ErrGroup::go", End::Ok);
            }
        }
    }
    let ended = if cx.rand.once_in(4) { group.wait_blocking() } else { group.wait().await };
    let failures = tally.failures.load(Relaxed);
    match &ended {
        Ok(()) if failures == 0 => did("ErrGroup::wait", End::Ok),
        Err(GroupError::Member(_)) if failures > 0 => did("ErrGroup::wait", End::Error),
        Err(error) if failures > 0 && error.is_panic() => did("ErrGroup::wait", End::Panicked),
        // A member that its runtime dropped.
        Err(_) => did("ErrGroup::wait", End::Cancelled),
        Ok(()) => violation(format!("a group with {failures} failures ended with {ended:?}")),
    }
    if tally.active.load(Relaxed) != 0 || ctx.err().is_none() {
        violation("a group's wait returned before its members ended, or its context goes on");
    }
}
