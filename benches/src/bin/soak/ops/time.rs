//! Time: no timer is early, and none is later than the bound.

use crate::context::Cx;
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use crate::world::the_world;
use futures::StreamExt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Sleeps. Some are reset or dropped.
pub(crate) async fn sleep(mut cx: Cx) {
    let deadline = Instant::now() + cx.rand.micros(4000);
    match cx.rand.below(3) {
        0 => {
            gmp::sleep_until(deadline).await;
            did("sleep_until", End::Ok);
        }
        1 => {
            let mut sleep = gmp::sleep(Duration::from_secs(3600));
            let early = gmp::timeout(cx.rand.micros(300), &mut sleep).await;
            if early.is_ok() || sleep.is_elapsed() {
                violation("a sleep of an hour is over");
            }
            sleep.reset_at(deadline);
            (&mut sleep).await;
            if !sleep.is_elapsed() || sleep.deadline().is_none() {
                violation("a sleep that has ended is not elapsed");
            }
            did("Sleep::reset", End::Ok);
        }
        _ => {
            let span = deadline.saturating_duration_since(Instant::now());
            gmp::sleep(span).await;
            did("sleep", End::Ok);
        }
    }
    the_world().lateness.timer("sleep", deadline);
}

/// Limits: the result is that of the future, or `Elapsed` at the limit and not before.
pub(crate) async fn timeout(mut cx: Cx) {
    let (span, limit) = (cx.rand.micros(2000), cx.rand.micros(2000));
    let start = Instant::now();
    let slow = async {
        gmp::sleep(span).await;
        start.elapsed()
    };
    let result = match cx.rand.below(2) {
        0 => gmp::timeout(limit, slow).await,
        _ => gmp::timeout_at(start + limit, slow).await,
    };
    match result {
        Ok(took) if took < span => violation(format!("a sleep of {span:?} took {took:?}")),
        Ok(_) => did("timeout", End::Ok),
        Err(_) => {
            the_world().lateness.timer("timeout", start + limit);
            did("timeout", End::Timeout);
        }
    }
}

/// A future that is ready is never `Elapsed`, also if the limit has passed and the slice is over.
pub(crate) async fn timeout_ready(mut cx: Cx) {
    let (tx, rx) = gmp::chan(1);
    let hog = Instant::now() + cx.rand.micros(14_000);
    for n in 0..40 {
        if tx.try_send(n).is_err() {
            violation("an empty channel of 1 is full");
        }
        while n == 20 && Instant::now() < hog {
            std::hint::spin_loop();
        }
        match gmp::timeout(Duration::ZERO, rx.recv()).await {
            Ok(Ok(got)) if got == n => {}
            other => violation(format!("a ready receive under timeout gave {other:?} for {n}")),
        }
    }
    did("timeout of a ready future", End::Ok);
}

/// A ticker: no tick before its time.
pub(crate) async fn ticker(mut cx: Cx) {
    let period = Duration::from_micros(100 + cx.rand.below(1000));
    let start = Instant::now();
    let mut ticker = gmp::Ticker::new(period);
    for n in 1..=1 + cx.rand.below(4) as u32 {
        if cx.rand.once_in(2) {
            ticker.tick().await;
        } else {
            let _ = ticker.next().await;
        }
        if start.elapsed() < period * n {
            violation(format!("tick {n} of {period:?} after {:?}", start.elapsed()));
        }
        did("Ticker::tick", End::Ok);
    }
    let again = Instant::now();
    ticker.reset(period * 2);
    ticker.tick().await;
    the_world().lateness.timer("Ticker::reset", again + period * 2);
    did("Ticker::reset", End::Ok);
    ticker.stop();
    if gmp::timeout(Duration::from_micros(500), ticker.tick()).await.is_ok() {
        violation("a ticker ticks after it was stopped");
    }
    did("Ticker::stop", End::Ok);
}

/// A timer: stopped, reset, awaited.
pub(crate) async fn timer(mut cx: Cx) {
    let timer = gmp::Timer::new(Duration::from_secs(3600));
    if !timer.is_pending() || (cx.rand.once_in(2) && (!timer.stop() || timer.stop())) {
        violation("a new timer is not pending, or stops twice");
    }
    let span = cx.rand.micros(2000);
    let start = Instant::now();
    timer.reset(span);
    let mut timer = pin!(timer);
    timer.as_mut().await;
    the_world().lateness.timer("Timer", start + span);
    if timer.is_pending() || timer.stop() {
        violation("a timer that has fired is pending");
    }
    did("Timer", End::Ok);
}

/// `after_func` calls once and not early; a stopped one is not called; some panic.
pub(crate) async fn after_func(mut cx: Cx) {
    let span = cx.rand.micros(2000);
    let deadline = Instant::now() + span;
    let calls = Arc::new(AtomicU64::new(0));
    let (tx, rx) = gmp::chan::unbounded();
    let (counted, panics) = (calls.clone(), cx.rand.once_in(200));
    let call = gmp::after_func(span, move || {
        the_world().lateness.timer("after_func", deadline);
        counted.fetch_add(1, Relaxed);
        let _ = tx.try_send(());
        if panics {
            expected_panic();
        }
    });
    let stopped = match cx.rand.below(4) {
        0 => {
            cx.pause().await;
            let stopped = call.stop();
            did("AfterFunc::stop", if stopped { End::Ok } else { End::Not });
            stopped
        }
        1 => {
            let pending = call.reset(span * 2);
            did("AfterFunc::reset", if pending { End::Ok } else { End::Not });
            false
        }
        _ => false,
    };
    if stopped {
        // A call that began before the stop has been counted by then.
        gmp::sleep(span).await;
        if calls.load(Relaxed) != 0 {
            violation("after_func called a function that was stopped");
        }
        return;
    }
    drop(call);
    // The channel ends with its last owner: a call that was dropped.
    if rx.recv().await.is_err() {
        return did("after_func", End::Cancelled);
    }
    did("after_func", End::Ok);
}
