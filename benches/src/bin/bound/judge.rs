//! Compares what happened between an event and its goroutine with what the bounds allow.

use crate::clocks::{Mark, Used};
use crate::load::{Load, SLICE};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The time of polling between two services of a P.
const PERIOD: Duration = Duration::from_micros(50);

/// The longest sleep of sysmon, and the time after which it requests a service.
const SYSMON: Duration = Duration::from_millis(1);

/// The time that the newcomers of all sources take, because each reads the clocks of all threads.
/// Own goroutines then get the same time.
const NEWCOMERS: Duration = Duration::from_micros(200);

/// The sleep of the control thread, and the most by which it may be late.
const TICK: Duration = Duration::from_millis(1);

/// The time for which the control thread remembers that it was late.
const MEMORY: Duration = Duration::from_secs(10);

/// Violations after which a run ends.
const MANY: usize = 20;

/// What makes a goroutine runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Timer,
    /// An external thread sends on a channel.
    Send,
    /// An external thread spawns.
    Spawn,
    Socket,
    /// Another goroutine sends on a channel. The woken goroutine is no newcomer.
    Wake,
}

impl Source {
    pub(crate) const ALL: [Self; 5] =
        [Self::Timer, Self::Send, Self::Spawn, Self::Socket, Self::Wake];
}

/// What the bounds allow in a phase: CPU time of the P before a goroutine runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Before a newcomer, in 99 of 100 cases.
    typical: Duration,
    /// Before a newcomer. If the OS ran another thread while newcomers had their turn, own
    /// goroutines get the same time, up to a slice.
    newcomer: Duration,
    /// Before a goroutine on the ring. Newcomers take half of the time.
    queued: Duration,
}

impl Allowance {
    /// Returns what is allowed beside `loads`.
    pub(crate) fn for_loads(loads: &[Load]) -> Self {
        let longest = loads.iter().map(|load| load.longest_poll()).max().unwrap_or_default();
        let queue: Duration = loads.iter().map(|load| load.queue()).sum();
        // The second service begins the newcomers' turn.
        let services = 2 * (PERIOD + longest + NEWCOMERS);
        // If polls become longer, sysmon requests the service.
        let requested = services + 2 * SYSMON;
        let typical = if loads.len() == 1 { services } else { requested };
        let newcomer = requested + SLICE;
        Self { typical, newcomer, queued: 2 * queue + newcomer }
    }
}

/// An event that is judged.
#[derive(Debug)]
pub(crate) struct Event {
    mark: Mark,
    phase: u64,
}

/// The phase whose events are judged.
#[derive(Debug)]
struct Phase {
    allowance: Allowance,
    name: String,
}

/// The sums of one source.
#[derive(Debug, Default)]
struct Tally {
    events: AtomicU64,
    polls: AtomicU64,
    cpu: AtomicU64,
    time: AtomicU64,
    /// Events that took longer than is typical.
    untypical: AtomicU64,
}

/// How much too long a goroutine waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excess {
    Untypical,
    Violation,
}

/// A time that was too long, unless the control thread was late as well.
#[derive(Debug)]
struct Suspect {
    source: Source,
    excess: Excess,
    from: Instant,
    until: Instant,
    beside: String,
    text: String,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Judge {
    /// Whether each P can have a CPU.
    has_cpus: bool,
    /// The number of the open phase; 0 if none is open.
    open: AtomicU64,
    phases: AtomicU64,
    phase: Mutex<Option<Phase>>,
    tallies: [Tally; Source::ALL.len()],
    suspects: Mutex<Vec<Suspect>>,
    excused: AtomicU64,
    /// The untypical events by source and loads.
    untypical: Mutex<BTreeMap<String, u64>>,
    violations: Mutex<Vec<String>>,
}

impl Judge {
    pub(crate) fn new(has_cpus: bool) -> Self {
        Self {
            has_cpus,
            open: AtomicU64::new(0),
            phases: AtomicU64::new(0),
            phase: Mutex::new(None),
            tallies: Default::default(),
            suspects: Mutex::default(),
            excused: AtomicU64::new(0),
            untypical: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    /// Begins to judge events.
    pub(crate) fn open(&self, allowance: Allowance, name: String) {
        *self.phase.lock() = Some(Phase { allowance, name });
        self.open.store(self.phases.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    /// Stops judging events, also those that have not been served yet.
    pub(crate) fn close(&self) {
        self.open.store(0, Relaxed);
        *self.phase.lock() = None;
    }

    /// Marks an event that is about to happen. `None` if it is not judged.
    pub(crate) fn event(&self) -> Option<Event> {
        let phase = self.open.load(Relaxed);
        (phase != 0).then(|| Event { mark: Mark::now(), phase })
    }

    /// Judges the event of the running goroutine.
    pub(crate) fn ran(&self, source: Source, event: Option<Event>) {
        let Some(event) = event else { return };
        let used = event.mark.used();
        let guard = self.phase.lock();
        let Some(phase) = guard.as_ref().filter(|_| self.open.load(Relaxed) == event.phase) else {
            return;
        };
        self.tally(source, &used);
        if let Some(excess) = self.excess(source, &used, &phase.allowance) {
            let (from, until) = (event.mark.at, used.until);
            let beside = format!("{source:?} beside {}", phase.name);
            let text = format!("{used:?}: {beside}");
            self.suspects.lock().push(Suspect { source, excess, from, until, beside, text });
        }
    }

    fn tally(&self, source: Source, used: &Used) {
        let tally = &self.tallies[source as usize];
        tally.events.fetch_add(1, Relaxed);
        tally.polls.fetch_max(used.polls, Relaxed);
        tally.cpu.fetch_max(used.cpu.as_micros() as u64, Relaxed);
        tally.time.fetch_max(used.time.as_micros() as u64, Relaxed);
    }

    fn excess(&self, source: Source, used: &Used, allowance: &Allowance) -> Option<Excess> {
        let (most, typical) = match source {
            Source::Wake => (allowance.queued, allowance.queued),
            _ => (allowance.newcomer, allowance.typical),
        };
        // A thread that waits for a CPU may hold the goroutine, or its event.
        let most = most + used.delay;
        let is_late = self.has_cpus && used.time > most + used.delay + TICK;
        if used.cpu > most || is_late {
            return Some(Excess::Violation);
        }
        (used.cpu > typical + used.delay).then_some(Excess::Untypical)
    }

    /// Runs the control thread: decides about suspects.
    pub(crate) fn control(&self) {
        let mut late: VecDeque<(Instant, Instant)> = VecDeque::new();
        loop {
            let start = Instant::now();
            thread::sleep(TICK);
            let end = Instant::now();
            if end - start > 2 * TICK {
                late.push_back((start, end));
            }
            while late.front().is_some_and(|(_, until)| end - *until > MEMORY) {
                late.pop_front();
            }
            let is_over = |suspect: &mut Suspect| suspect.until < end;
            let over: Vec<Suspect> = self.suspects.lock().extract_if(.., is_over).collect();
            for suspect in over {
                let was_late =
                    late.iter().any(|(from, until)| *from < suspect.until && suspect.from < *until);
                self.decide(suspect, was_late);
            }
        }
    }

    fn decide(&self, suspect: Suspect, was_late: bool) {
        match suspect.excess {
            _ if was_late => {
                self.excused.fetch_add(1, Relaxed);
            }
            Excess::Untypical => {
                self.tallies[suspect.source as usize].untypical.fetch_add(1, Relaxed);
                *self.untypical.lock().entry(suspect.beside).or_default() += 1;
            }
            Excess::Violation => self.violation(suspect.text),
        }
    }

    /// Records and prints a violation.
    pub(crate) fn violation(&self, text: String) {
        println!("*** {text}");
        self.violations.lock().push(text);
    }

    /// Whether it is pointless to continue.
    pub(crate) fn has_many_violations(&self) -> bool {
        self.violations.lock().len() >= MANY
    }

    /// Describes the run up to now.
    pub(crate) fn progress(&self) -> String {
        let events: u64 = self.tallies.iter().map(|tally| tally.events.load(Relaxed)).sum();
        let (excused, violations) = (self.excused.load(Relaxed), self.violations.lock().len());
        format!("{events} events, {excused} excused, {violations} violations")
    }

    /// Prints the sums and returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        for source in Source::ALL {
            let tally = &self.tallies[source as usize];
            let get = |count: &AtomicU64| count.load(Relaxed);
            println!(
                "{:<8} {:>8} events; worst: {:>6} polls, {:>7} us CPU, {:>7} us; {} untypical",
                format!("{source:?}"),
                get(&tally.events),
                get(&tally.polls),
                get(&tally.cpu),
                get(&tally.time),
                get(&tally.untypical),
            );
            if get(&tally.events) == 0 {
                self.violation(format!("{source:?}: no event was judged"));
            }
            if get(&tally.untypical) * 100 > get(&tally.events) {
                self.violation(format!("{source:?}: more than 1 of 100 untypical"));
            }
        }
        let mut untypical: Vec<_> = self.untypical.lock().clone().into_iter().collect();
        untypical.sort_by_key(|(_, events)| Reverse(*events));
        for (beside, events) in untypical.iter().take(MANY) {
            println!("{events:>8} untypical: {beside}");
        }
        println!("{}", self.progress());
        match self.violations.lock().len() {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}
