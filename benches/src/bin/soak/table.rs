//! The table of operations with their weights.

use crate::context::Cx;
use crate::known::{UNDER_SANITIZER, is_left_out};
use crate::ops::{
    broadcast, chan, common, context, descriptor, edge, goroutine, group, init, lock, members,
    notify, oneshot, pool, rate, runtime, select, signal, socket, stall, tcp, time, tracing, wait,
    watch,
};
use crate::options::{Build, Options};
use crate::rand::Rand;
use std::pin::Pin;
use std::sync::OnceLock;

/// An operation in progress.
pub(crate) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Relative frequency of the operation.
    weight: u32,
    place: Place,
    pub(crate) run: fn(Cx) -> Running,
}

/// Where an operation can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On every runtime, also on one that ends in the middle.
    Anywhere,
    /// On a runtime that lives as long as the run.
    Lasting,
}

macro_rules! operations {
    ($($name:literal $weight:literal $place:ident $run:path;)+) => {
        &[$(Operation {
            name: $name,
            weight: $weight,
            place: Place::$place,
            run: |cx| Box::pin($run(cx)),
        },)+]
    };
}

/// The table.
pub(crate) const TABLE: &[Operation] = operations! {
    "chan_traffic" 40 Anywhere chan::traffic;
    "chan_threads" 4 Anywhere chan::threads;
    "chan_inspect" 4 Anywhere chan::inspect;
    "chan_send_shared" 80 Anywhere common::send_shared;
    "chan_receive_shared" 80 Anywhere common::receive_shared;
    "select_crossing" 30 Anywhere select::crossing;
    "select_default_last" 10 Anywhere select::default_last;
    "edge_go_closure" 3 Anywhere edge::go_closure;
    "edge_try_send_to_stream" 3 Anywhere edge::try_send_to_stream;
    "edge_try_recv_from_select" 3 Anywhere edge::try_recv_from_select;
    "edge_sink_close" 3 Anywhere edge::sink_close;
    "edge_big_future" 3 Anywhere edge::big_future;
    "edge_payload_bomb" 2 Lasting edge::payload_bomb;
    "goroutine_fan_out" 30 Anywhere goroutine::fan_out;
    "goroutine_panics" 20 Anywhere goroutine::panics;
    "goroutine_join_by_ref" 10 Anywhere goroutine::join_by_ref;
    "goroutine_wake_storm" 8 Anywhere goroutine::wake_storm;
    "goroutine_inspect" 4 Anywhere goroutine::inspect;
    "stall_block" 10 Anywhere stall::block;
    "stall_hog" 6 Anywhere stall::hog;
    "stall_spawn_blocking" 8 Anywhere stall::spawn_blocking;
    "stall_beside_work" 6 Anywhere stall::block_beside_work;
    "block_past_max_blocking_threads" 2 Lasting stall::block_past_max_blocking_threads;
    "busy_timeout_in_block_on" 2 Lasting stall::busy_timeout_in_block_on;
    "wait_group" 20 Anywhere wait::wait_group;
    "wait_cond" 10 Anywhere wait::cond;
    "wait_cond_blocking" 4 Anywhere wait::cond_blocking;
    "wait_barrier" 10 Anywhere wait::barrier;
    "wait_permits" 20 Anywhere wait::permits;
    "lock_mutex" 20 Anywhere lock::mutex;
    "lock_rw" 20 Anywhere lock::rw_lock;
    "lock_mutex_shared" 60 Anywhere common::mutex_shared;
    "lock_rw_shared" 60 Anywhere common::rw_shared;
    "lock_semaphore_shared" 40 Anywhere common::semaphore_shared;
    "init_once" 15 Anywhere init::once;
    "init_once_cell" 15 Anywhere init::once_cell;
    "init_lazy" 15 Anywhere init::lazy;
    "context_tree" 15 Anywhere context::tree;
    "context_deadline" 15 Anywhere context::deadline;
    "context_after_func" 15 Anywhere context::after_func;
    "err_group" 15 Anywhere group::err_group;
    "pool_shared" 30 Anywhere pool::pool_shared;
    "pool_panics" 5 Anywhere pool::pool_panics;
    "single_flight" 15 Anywhere pool::single_flight;
    "single_flight_shared" 30 Anywhere pool::flight_shared;
    "join_set" 15 Anywhere members::join_set;
    "task_tracker" 15 Anywhere members::tracker;
    "abort_handle" 15 Anywhere members::abort_handle;
    "notify" 15 Anywhere notify::notify;
    "oneshot" 25 Anywhere oneshot::oneshot;
    "watch" 15 Anywhere watch::watch;
    "broadcast" 15 Anywhere broadcast::broadcast;
    "rate_limiter" 10 Anywhere rate::limited;
    "rate_limiter_raised" 10 Anywhere rate::raised;
    "trace" 3 Anywhere tracing::trace;
    "flight_recorder" 3 Anywhere tracing::flight_recorder;
    "time_sleep" 20 Anywhere time::sleep;
    "time_timeout" 20 Anywhere time::timeout;
    "time_timeout_ready" 5 Anywhere time::timeout_ready;
    "time_ticker" 10 Anywhere time::ticker;
    "time_timer" 10 Anywhere time::timer;
    "time_after_func" 15 Anywhere time::after_func;
    "tcp_echo" 8 Anywhere tcp::echo;
    "tcp_pair" 10 Anywhere tcp::pair;
    "tcp_close_wakes" 10 Anywhere tcp::close_wakes;
    "many_readers" 2 Anywhere tcp::many_readers;
    "udp" 10 Anywhere socket::udp;
    "unix_stream" 10 Anywhere socket::unix_stream;
    "unix_datagram" 10 Anywhere socket::unix_datagram;
    "resolve" 2 Anywhere socket::resolve;
    "fd_pipe" 8 Anywhere descriptor::pipe;
    "fd_pipe_close" 8 Anywhere descriptor::pipe_close;
    "fd_copy" 8 Anywhere descriptor::copy;
    "fd_file" 4 Anywhere descriptor::file;
    "signals" 6 Lasting signal::signals;
    "runtime_resize" 6 Anywhere runtime::resize;
    "runtime_life" 2 Lasting runtime::life;
    "sleep_on_ended_runtime" 2 Lasting runtime::sleep_on_ended_runtime;
    "spawn_during_shutdown" 2 Lasting runtime::spawn_during_shutdown;
};

/// An operation that was drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// Its place in the table.
    pub(crate) index: usize,
    pub(crate) operation: fn(Cx) -> Running,
}

/// The operations of a run, by where they can run.
#[derive(Debug)]
struct Draws {
    all: Vec<(u64, usize)>,
    portable: Vec<(u64, usize)>,
}

static DRAWS: OnceLock<Draws> = OnceLock::new();

/// Chooses the operations of the run.
///
/// # Errors
///
/// No operation is left.
pub(crate) fn choose(options: &Options) -> Result<(), String> {
    let enabled = |operation: &Operation| {
        // The full name of an operation draws it although a known defect leaves it out.
        if options.only.as_deref() == Some(operation.name) {
            return true;
        }
        let wanted = options.only.as_ref().is_none_or(|only| operation.name.contains(only));
        let sanitized = UNDER_SANITIZER.iter().any(|(name, _)| *name == operation.name);
        wanted && !is_left_out(operation.name) && !(sanitized && options.build == Build::Sanitized)
    };
    let sums = |filter: &dyn Fn(&Operation) -> bool| {
        let mut sum = 0;
        let chosen = TABLE.iter().enumerate().filter(|(_, operation)| filter(operation));
        chosen
            .map(|(index, operation)| {
                sum += u64::from(operation.weight);
                (sum, index)
            })
            .collect::<Vec<_>>()
    };
    let all = sums(&enabled);
    let mut portable = sums(&|operation| enabled(operation) && operation.place == Place::Anywhere);
    if portable.is_empty() {
        // Only lasting operations were requested. Runtimes that end still need a load.
        portable = sums(&|operation| operation.name == "goroutine_fan_out");
    }
    if all.is_empty() {
        return Err("no operation is left to draw".to_owned());
    }
    DRAWS.get_or_init(|| Draws { all, portable });
    Ok(())
}

fn draw_from(sums: &[(u64, usize)], rand: &mut Rand) -> Drawn {
    let total = sums.last().map_or(1, |(sum, _)| *sum);
    let drawn = rand.below(total);
    let at = sums.partition_point(|(sum, _)| *sum <= drawn);
    let index = sums[at].1;
    Drawn { index, operation: TABLE[index].run }
}

fn draws() -> &'static Draws {
    DRAWS.get().expect("`choose` comes first")
}

/// Whether the operation at this place of the table is drawn in this run.
pub(crate) fn is_drawn(index: usize) -> bool {
    draws().all.iter().any(|(_, drawn)| *drawn == index)
}

/// Draws an operation.
pub(crate) fn draw(rand: &mut Rand) -> Drawn {
    draw_from(&draws().all, rand)
}

/// Draws an operation for a runtime that ends in the middle of it.
pub(crate) fn draw_portable(rand: &mut Rand) -> Drawn {
    draw_from(&draws().portable, rand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, operation) in TABLE.iter().enumerate() {
            assert!(TABLE[..index].iter().all(|other| other.name != operation.name));
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let sums = [(1, 10), (4, 11), (5, 12)];
        let mut rand = Rand::new(3);
        let mut counts = [0; 3];
        for _ in 0..5000 {
            counts[draw_from(&sums, &mut rand).index - 10] += 1;
        }
        assert!(counts[0] > 800 && counts[1] > 2800 && counts[2] > 800, "{counts:?}");
    }

    #[test]
    fn a_seed_determines_the_operations() {
        let sums: Vec<_> = (1..=20).map(|n| (n * n, n as usize)).collect();
        let draw = |seed| {
            let mut rand = Rand::stream(seed, 3);
            (0..50).map(|_| draw_from(&sums, &mut rand).index).collect::<Vec<_>>()
        };
        // `run` of the table is not called here, only the index is used.
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
