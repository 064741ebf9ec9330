//! Large futures and closures on small stacks. They move to the heap once, without a copy on the
//! stack of each caller.
//!
//! A stack overflow ends the process, so each test runs in a child.

use super::support::{child, is_child};
use gmp::sync::ErrGroup;
use gmp::{WaitGroup, go};
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// Larger than any future should be, and larger than half of each small stack here.
const BIG: usize = 192 << 10;

/// Stack that rustc needs in a debug build. It holds the future as a temporary, as an argument and,
/// for closures and the forms of `go!`, in variables of the caller.
const SMALL_STACK: usize = 512 << 10;
const CALLER_KEEPS_COPIES: usize = 1 << 20;

async fn big() -> usize {
    let bytes = [1u8; BIG];
    gmp::yield_now().await;
    black_box(&bytes).len()
}

/// Runs `f` on a thread with `stack` bytes of stack, in a child process.
fn on_stack(test: &str, stack: usize, f: impl FnOnce() + Send + 'static) {
    if is_child() {
        thread::Builder::new().stack_size(stack).spawn(f).unwrap().join().unwrap();
        return;
    }
    let output = child(test, &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} on {stack} bytes: {}\n{error}", output.status);
}

#[test]
fn a_small_stack_spawns_a_big_future() {
    on_stack("big_future::a_small_stack_spawns_a_big_future", SMALL_STACK, || {
        let runtime = gmp::Runtime::new().unwrap();
        for handle in [spawn(), spawn_named(), on_handle(runtime.handle()), on_runtime(&runtime)] {
            assert_eq!(gmp::block_on(handle).unwrap(), BIG);
        }
        let group = WaitGroup::new();
        let handle = in_group(&group);
        gmp::block_on(group.wait());
        assert_eq!(gmp::block_on(handle).unwrap(), BIG);
    });
}

// One function per entry point, because a frame of a debug build holds the temporaries of all its
// calls.

#[inline(never)]
fn spawn() -> gmp::JoinHandle<usize> {
    gmp::spawn(big())
}

#[inline(never)]
fn spawn_named() -> gmp::JoinHandle<usize> {
    gmp::task::Builder::new().name("big").spawn(big())
}

#[inline(never)]
fn on_handle(handle: &gmp::runtime::Handle) -> gmp::JoinHandle<usize> {
    handle.spawn(big())
}

#[inline(never)]
fn on_runtime(runtime: &gmp::Runtime) -> gmp::JoinHandle<usize> {
    runtime.spawn(big())
}

#[inline(never)]
fn in_group(group: &WaitGroup) -> gmp::JoinHandle<usize> {
    group.go(big())
}

#[test]
fn a_small_stack_blocks_on_a_big_future() {
    on_stack("big_future::a_small_stack_blocks_on_a_big_future", SMALL_STACK, || {
        #[inline(never)]
        fn plain() -> usize {
            gmp::block_on(big())
        }
        #[inline(never)]
        fn on_runtime(runtime: &gmp::Runtime) -> usize {
            runtime.block_on(big())
        }
        #[inline(never)]
        fn on_handle(handle: &gmp::runtime::Handle) -> usize {
            handle.block_on(big())
        }
        let runtime = gmp::Runtime::new().unwrap();
        let sizes = [plain(), on_runtime(&runtime), on_handle(runtime.handle())];
        assert_eq!(sizes, [BIG; 3]);
    });
}

#[test]
fn go_takes_a_big_future_in_all_forms() {
    on_stack("big_future::go_takes_a_big_future_in_all_forms", CALLER_KEEPS_COPIES, || {
        #[inline(never)]
        fn call() -> gmp::JoinHandle<usize> {
            go!(big())
        }
        #[inline(never)]
        fn block() -> gmp::JoinHandle<usize> {
            go!({
                let bytes = [1u8; BIG];
                gmp::yield_now().await;
                black_box(&bytes).len()
            })
        }
        #[inline(never)]
        fn closure() -> gmp::JoinHandle<usize> {
            go!(name = "big", move || big())
        }
        for handle in [call(), block(), closure()] {
            assert_eq!(gmp::block_on(handle).unwrap(), BIG);
        }
    });
}

#[test]
fn closures_timeouts_and_groups_take_big_futures() {
    let test = "big_future::closures_timeouts_and_groups_take_big_futures";
    on_stack(test, CALLER_KEEPS_COPIES, || {
        #[inline(never)]
        fn spawn_blocking() -> gmp::JoinHandle<usize> {
            let bytes = [1u8; BIG];
            gmp::spawn_blocking(move || black_box(&bytes).len())
        }
        #[inline(never)]
        fn blocking() -> usize {
            let bytes = [1u8; BIG];
            gmp::block_in_place(move || black_box(&bytes).len())
        }
        #[inline(never)]
        fn timeout() -> gmp::JoinHandle<Result<usize, gmp::time::Elapsed>> {
            gmp::spawn(gmp::timeout(Duration::from_secs(60), big()))
        }
        #[inline(never)]
        fn member(group: &ErrGroup<()>) {
            drop(group.go(async {
                big().await;
                Ok(())
            }));
        }
        assert_eq!(gmp::block_on(spawn_blocking()).unwrap(), BIG);
        assert_eq!(blocking(), BIG);
        assert_eq!(gmp::block_on(timeout()).unwrap(), Ok(BIG));
        let group = ErrGroup::new();
        member(&group);
        gmp::block_on(group.wait()).unwrap();
    });
}

/// The worker threads have the default stack; a goroutine that spawns is some frames deep.
#[test]
fn a_goroutine_spawns_a_future_of_half_a_megabyte() {
    async fn huge() -> usize {
        let bytes = [1u8; 512 << 10];
        gmp::yield_now().await;
        black_box(&bytes).len()
    }
    let test = "big_future::a_goroutine_spawns_a_future_of_half_a_megabyte";
    on_stack(test, SMALL_STACK, || {
        let outer = gmp::spawn(async { gmp::spawn(huge()).await.unwrap() });
        assert_eq!(gmp::block_on(outer).unwrap(), 512 << 10);
    });
}

#[gmp::test]
async fn the_future_of_a_test_may_be_big() {
    assert_eq!(big().await, BIG);
}
