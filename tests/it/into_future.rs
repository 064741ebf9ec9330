//! Calls that take a future also take what converts into one.

use super::support::runtime;
use gmp::chan::{SelectCase, select_cases};
use gmp::sync::ErrGroup;
use gmp::{WaitGroup, context};
use std::future::{Future, IntoFuture, Ready, ready};
use std::pin::Pin;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// A request that is sent when it is awaited. No future itself, and not `Send`.
struct Request {
    answer: u32,
    _not_send: *const (),
}

impl IntoFuture for Request {
    type Output = u32;
    type IntoFuture = Ready<u32>;

    fn into_future(self) -> Ready<u32> {
        ready(self.answer)
    }
}

fn request(answer: u32) -> Request {
    Request { answer, _not_send: std::ptr::null() }
}

/// The same for the members of an `ErrGroup`.
struct Checked(u32);

impl IntoFuture for Checked {
    type Output = Result<(), u32>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<(), u32>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { if self.0 == 0 { Ok(()) } else { Err(self.0) } })
    }
}

#[test]
fn goroutines_run_it() {
    let runtime = runtime(1);
    assert_eq!(runtime.spawn(request(1)).join_blocking().unwrap(), 1);
    assert_eq!(runtime.handle().spawn(request(2)).join_blocking().unwrap(), 2);
    let entered = runtime.enter();
    assert_eq!(gmp::spawn(request(3)).join_blocking().unwrap(), 3);
    let builder = gmp::task::Builder::new().name("request").on(runtime.handle());
    assert_eq!(builder.spawn(request(4)).join_blocking().unwrap(), 4);
    let group = WaitGroup::new();
    let member = group.go(request(5));
    drop(entered);
    group.wait_blocking();
    assert_eq!(member.join_blocking().unwrap(), 5);
}

#[test]
fn threads_run_it() {
    let runtime = runtime(1);
    assert_eq!(gmp::block_on(request(1)), 1);
    assert_eq!(runtime.block_on(request(2)), 2);
    assert_eq!(runtime.handle().block_on(request(3)), 3);
}

#[gmp::test]
async fn error_groups_run_it() {
    let group = ErrGroup::new();
    group.set_limit(1);
    group.go(Checked(0)).await;
    group.go(Checked(0)).await;
    assert_eq!(group.wait().await.map_err(|error| error.into_member().ok()), Ok(()));
    assert!(group.try_go(Checked(7)).is_ok());
    assert_eq!(group.wait().await.unwrap_err().member(), Some(&7));
    assert_eq!(group.go_value(Checked(0)).await, Some(()));
    gmp::block_in_place(|| group.go_blocking(Checked(0)));
    assert!(group.wait_blocking().is_err());
}

#[gmp::test]
async fn limits_and_choices_take_it() {
    assert_eq!(gmp::timeout(HOUR, request(1)).await, Ok(1));
    assert_eq!(gmp::timeout_at(Instant::now() + HOUR, request(2)).await, Ok(2));
    assert_eq!(context::background().run(request(3)).await, Ok(3));
    let cases = [SelectCase::future(request(4), |answer| answer)];
    assert_eq!(select_cases(cases).await, (0, 4));
}
