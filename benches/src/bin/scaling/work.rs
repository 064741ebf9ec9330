//! The workloads of the simulation: lists of steps, with the shared lines that each step touches.
//!
//! The time of private work is the time per goroutine of the row of that name on one core
//! (`benches/README.md`). The code determines which lines are written and how often. `SCALING.md`
//! has the list. A workload may be *sharded*: the same with one structure split, to show the gain.

use super::line::{Costs, MAX_CORES};
use super::machine::{Machine, Outcome, Step};

/// Simulated time, in ns, if steps are short.
const FINE: u64 = 400_000;

/// The same if steps take about a microsecond.
const MIDDLE: u64 = 4_000_000;

/// The same if some steps take ten microseconds and wait for each other.
const COARSE: u64 = 40_000_000;

/// Goroutines in a batch between a ring and the global queue.
const BATCH: u64 = 129;

/// Time to count a goroutine off a list that another core has made, in ns, as measured. The CPU
/// prefetches adjacent cells. The cells of a long-lived program are not adjacent and take
/// [`Costs::near`].
const COUNTED_OFF: u64 = 20;

/// Slices between two checks of the shared queues.
const TICK: u64 = 61;

/// Shared lines by name. Each has a place for every shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    GlobalQueue,
    InboxTail,
    InboxHead,
    IdleWord,
    Lists,
    GoId,
    Live,
    Registry,
    Centre,
    Epoll,
}

pub(super) const SHARED: [Shared; 10] = [
    Shared::GlobalQueue,
    Shared::InboxTail,
    Shared::InboxHead,
    Shared::IdleWord,
    Shared::Lists,
    Shared::GoId,
    Shared::Live,
    Shared::Registry,
    Shared::Centre,
    Shared::Epoll,
];

/// After the shared lines and their shards: the line of each P that other Ps read, and the line of
/// its timers.
const RINGS: usize = SHARED.len() * MAX_CORES;
const TIMERS: usize = RINGS + MAX_CORES;
const LINES: usize = TIMERS + MAX_CORES;

/// One workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Returns the steps of one core.
    steps: fn(&Seat) -> Vec<Step>,
    /// Simulated time.
    span: u64,
    /// The lines that are split, and the number of cores that share a part.
    shards: &'static [(Shared, usize)],
}

/// A core among `cores`.
#[derive(Clone, Copy, Debug)]
struct Seat {
    core: usize,
    cores: usize,
    shards: &'static [(Shared, usize)],
}

impl Seat {
    fn line(&self, shared: Shared) -> usize {
        let split = self.shards.iter().find(|(split, _)| *split == shared);
        let shard = split.map_or(0, |(_, cores)| self.core / cores);
        shared as usize * MAX_CORES + shard
    }

    fn write(&self, shared: Shared, hold: u64) -> Step {
        Step::Write { line: self.line(shared), hold }
    }

    fn read(&self, shared: Shared) -> Step {
        Step::Read(self.line(shared))
    }

    /// Returns the lines of all other Ps, from `first` on.
    fn others(&self, first: usize) -> Vec<usize> {
        (0..self.cores).filter(|core| *core != self.core).map(|core| first + core).collect()
    }

    fn own(&self, first: usize) -> Step {
        Step::Write { line: first + self.core, hold: 0 }
    }
}

pub(super) const WORKLOADS: &[Workload] = &[
    Workload { name: "yield, all Ps busy", steps: yields, span: FINE, shards: &[] },
    Workload {
        name: "the same, all timers in each fair turn",
        steps: yields_all_timers,
        span: FINE,
        shards: &[],
    },
    Workload { name: "timeouts, all Ps busy", steps: timeouts, span: FINE, shards: &[] },
    Workload {
        name: "the same, all timers in each fair turn",
        steps: timeouts_all_timers,
        span: FINE,
        shards: &[],
    },
    Workload {
        name: "yield, beside thieves (1 core in 4)",
        steps: beside_thieves,
        span: FINE,
        shards: &[],
    },
    Workload {
        name: "the same, at most 4 thieves",
        steps: beside_few_thieves,
        span: FINE,
        shards: &[],
    },
    Workload {
        name: "spawn, all through the global queue",
        steps: overflow,
        span: COARSE,
        shards: &[],
    },
    Workload {
        name: "the same, a queue per 8 Ps",
        steps: overflow,
        span: COARSE,
        shards: &[(Shared::GlobalQueue, 8)],
    },
    Workload {
        name: "the same, batches stay whole",
        steps: overflow_whole,
        span: COARSE,
        shards: &[],
    },
    Workload {
        name: "wakes by threads outside (1 core in 4)",
        steps: outside_wakes,
        span: MIDDLE,
        shards: &[],
    },
    Workload {
        name: "the same, registry per thread",
        steps: outside_wakes,
        span: MIDDLE,
        shards: &[(Shared::Registry, 1)],
    },
    Workload {
        name: "the same, inbox per 8 cores too",
        steps: outside_wakes,
        span: MIDDLE,
        shards: &[(Shared::Registry, 1), (Shared::InboxTail, 8), (Shared::InboxHead, 8)],
    },
    Workload {
        name: "spawns by threads outside (1 core in 4)",
        steps: outside_spawns,
        span: MIDDLE,
        shards: &[],
    },
    Workload {
        name: "the same, all of it per 8 cores",
        steps: outside_spawns,
        span: MIDDLE,
        shards: &[
            (Shared::InboxTail, 8),
            (Shared::InboxHead, 8),
            (Shared::Centre, 8),
            (Shared::GoId, 8),
            (Shared::Live, 8),
        ],
    },
    Workload { name: "sleep and wake-up every 20 µs", steps: naps, span: MIDDLE, shards: &[] },
    Workload {
        name: "the same, idle word and lists per 16 Ps",
        steps: naps,
        span: MIDDLE,
        shards: &[(Shared::IdleWord, 16), (Shared::Lists, 16)],
    },
    Workload { name: "echo, one epoll", steps: echo, span: COARSE, shards: &[] },
    Workload {
        name: "the same, an epoll per 16 Ps",
        steps: echo,
        span: COARSE,
        shards: &[(Shared::Epoll, 16)],
    },
];

impl Workload {
    /// Simulates the workload on `cores` cores. Returns the outcome, and for each of [`SHARED`] how
    /// busy its busiest shard was.
    pub(super) fn run(&self, cores: usize) -> (Outcome, Vec<f64>) {
        let seat = |core| Seat { core, cores, shards: self.shards };
        let scripts = (0..cores).map(|core| (self.steps)(&seat(core))).collect();
        let outcome = Machine::new(Costs::default(), LINES, scripts).run(self.span);
        let busiest = |shared: &Shared| {
            let first = *shared as usize * MAX_CORES;
            outcome.busy[first..first + MAX_CORES].iter().copied().fold(0.0, f64::max)
        };
        let busy = SHARED.iter().map(busiest).collect();
        (outcome, busy)
    }
}

/// A scan of all lines of a kind. By the measured figures about eight misses overlap.
fn in_order(lines: Vec<usize>) -> Step {
    Step::Scan { lines, at_once: 8 }
}

/// The pass of a thief. It is in random order and does more per line, so about three misses
/// overlap.
fn at_random(lines: Vec<usize>) -> Step {
    Step::Scan { lines, at_once: 3 }
}

/// A P with slices of 30 ns that yield. Each slice writes the line of the ring. Every 61st slice
/// checks the shared queues, and the timers in each `turns`-th check.
fn slices(seat: &Seat, turns: u64, slice: &[Step]) -> Vec<Step> {
    let mut steps = Vec::new();
    for turn in 0..turns {
        (0..TICK).for_each(|_| steps.extend_from_slice(slice));
        steps.extend([seat.read(Shared::GlobalQueue), seat.read(Shared::InboxTail)]);
        if turn == seat.core as u64 % turns {
            steps.push(in_order(seat.others(TIMERS)));
        }
        steps.push(Step::Done(TICK));
    }
    steps
}

/// Number of global checks per scan of all timers. The scheduler scans `LOOKS` Ps per check
/// in turn (`gmp-rt/src/sched/serve.rs`), which costs the same on average.
fn turns(seat: &Seat) -> u64 {
    (seat.cores as u64 / 16).max(1)
}

fn yields(seat: &Seat) -> Vec<Step> {
    slices(seat, turns(seat), &[Step::Work(30), seat.own(RINGS)])
}

fn yields_all_timers(seat: &Seat) -> Vec<Step> {
    slices(seat, 1, &[Step::Work(30), seat.own(RINGS)])
}

/// A timeout that is set and cancelled in each slice: 177 ns.
fn timeouts(seat: &Seat) -> Vec<Step> {
    let slice = [Step::Work(177), seat.own(RINGS), seat.own(TIMERS)];
    slices(seat, turns(seat), &slice)
}

fn timeouts_all_timers(seat: &Seat) -> Vec<Step> {
    let slice = [Step::Work(177), seat.own(RINGS), seat.own(TIMERS)];
    slices(seat, 1, &slice)
}

/// One core in `one_in` spins: it scans all rings, pauses, and scans again.
fn thieves(seat: &Seat, one_in: usize) -> Vec<Step> {
    if seat.core % one_in == one_in - 1 {
        vec![at_random(seat.others(RINGS)), Step::Work(800)]
    } else {
        yields(seat)
    }
}

fn beside_thieves(seat: &Seat) -> Vec<Step> {
    thieves(seat, 4)
}

fn beside_few_thieves(seat: &Seat) -> Vec<Step> {
    thieves(seat, (seat.cores / 4).max(4))
}

/// Spawns whose goroutines all pass through the global queue: 104 ns each, one batch in and one
/// out. Ids come in batches of 64. Under the lock an incoming batch is one link, and an outgoing
/// batch is counted off goroutine by goroutine.
fn overflow(seat: &Seat) -> Vec<Step> {
    overflow_with(seat, BATCH * COUNTED_OFF)
}

/// The same if whole batches leave the queue as they were put in.
fn overflow_whole(seat: &Seat) -> Vec<Step> {
    let mut steps = overflow_with(seat, 0);
    // The goroutines are still fetched, but without the lock.
    steps.insert(0, Step::Work(BATCH * COUNTED_OFF));
    steps
}

fn overflow_with(seat: &Seat, out: u64) -> Vec<Step> {
    vec![
        Step::Work(BATCH * 104),
        seat.write(Shared::GoId, 0),
        seat.write(Shared::GoId, 0),
        seat.write(Shared::GlobalQueue, 20),
        seat.read(Shared::IdleWord),
        seat.write(Shared::GlobalQueue, 20 + out),
        Step::Done(BATCH),
    ]
}

/// One core in four is an external thread that wakes goroutines. A wake-up takes and releases a
/// read lock, increments and decrements a reference count, writes the tail of the inbox and reads
/// the idle word. The other cores take and run the goroutines, [`SHARE`] at a time.
fn outside_wakes(seat: &Seat) -> Vec<Step> {
    if !seat.core.is_multiple_of(4) {
        return runs_from_inbox(seat);
    }
    let mut steps = vec![Step::Work(50)];
    steps.extend((0..4).map(|_| seat.write(Shared::Registry, 0)));
    steps.extend([seat.write(Shared::InboxTail, 5), seat.read(Shared::IdleWord), Step::Done(1)]);
    steps
}

/// Number of goroutines that a P takes from the inbox at a time: one more than its part of the
/// backlog.
const SHARE: u64 = 4;

fn runs_from_inbox(seat: &Seat) -> Vec<Step> {
    let take = seat.write(Shared::InboxHead, SHARE * 10);
    vec![take, seat.read(Shared::InboxTail), Step::Work(SHARE * 100)]
}

/// The same with new goroutines: also an id, the count, and a cell from the centre under its lock.
fn outside_spawns(seat: &Seat) -> Vec<Step> {
    if !seat.core.is_multiple_of(4) {
        let mut steps = Vec::new();
        (0..64 / SHARE).for_each(|_| steps.extend(runs_from_inbox(seat)));
        // The cells return to the centre 64 at a time.
        steps.push(seat.write(Shared::Centre, 64 * 10));
        return steps;
    }
    vec![
        Step::Work(80),
        seat.write(Shared::GoId, 0),
        seat.write(Shared::Centre, 20),
        seat.write(Shared::Live, 0),
        seat.write(Shared::InboxTail, 5),
        seat.read(Shared::IdleWord),
        Step::Done(1),
    ]
}

/// 20 µs of work, then a sleep and a wake-up by another thread, with 10 µs of CPU time in the
/// kernel. It takes the lock of the lists twice to sleep and once to be woken, writes the idle word
/// five times, and scans all Ps.
fn naps(seat: &Seat) -> Vec<Step> {
    vec![
        Step::Work(20_000),
        seat.own(RINGS),
        seat.write(Shared::IdleWord, 0),
        at_random(seat.others(RINGS)),
        seat.write(Shared::Lists, 40),
        seat.write(Shared::IdleWord, 0),
        in_order([seat.others(TIMERS), seat.others(RINGS)].concat()),
        seat.write(Shared::Lists, 60),
        Step::Work(10_000),
        seat.write(Shared::IdleWord, 0),
        seat.write(Shared::Lists, 60),
        seat.write(Shared::IdleWord, 0),
        in_order(seat.others(TIMERS)),
        seat.write(Shared::IdleWord, 0),
        Step::Done(1),
    ]
}

/// An answer on a connection: 5 µs for a read and a write. Meanwhile the kernel queues the event of
/// the other end on the list of its epoll, under its lock. Events are taken from the list 32 at a
/// time, under the same lock.
fn echo(seat: &Seat) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..32 {
        steps.extend([Step::Work(5_000), seat.write(Shared::Epoll, 40), Step::Done(1)]);
    }
    steps.extend([Step::Work(1_000), seat.write(Shared::Epoll, 32 * 40)]);
    steps
}

#[cfg(test)]
mod tests {
    use super::{SHARED, WORKLOADS};

    fn rate(name_at: usize, cores: usize) -> f64 {
        WORKLOADS[name_at].run(cores).0.per_second
    }

    #[test]
    fn equal_runs_have_equal_rates() {
        assert_eq!(rate(0, 8), rate(0, 8));
    }

    #[test]
    fn each_line_has_its_own_number() {
        for (n, shared) in SHARED.iter().enumerate() {
            assert_eq!(*shared as usize, n);
        }
    }

    #[test]
    fn shards_raise_the_rate() {
        for (at, workload) in WORKLOADS.iter().enumerate() {
            if !workload.shards.is_empty() {
                assert!(rate(at, 64) > rate(at - 1, 64), "{}", workload.name);
            }
        }
    }
}
