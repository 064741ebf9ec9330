//! A random scheduler that calls the tracer as the hooks of the real one do.
//!
//! Real threads play workers, a sysmon and outside threads, and race as those of gmp do. Traces
//! begin and end while they run, generations end every few milliseconds, and flight recorders are
//! written. Each file must pass our own reader and Go's.

use super::check_tests::{Summary, check, check_with_go};
use super::session::Scheduler;
use super::stream::Writer;
use super::{LeaveReason, Loss, PollExit, RegionId, Rest, Right, Spawn, Stream, TracedG, Tracer};
use crate::util::rand::Rand;
use crate::wait_reason;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::Location;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const RUNNABLE: u32 = 0;
const RUNNING: u32 = 1;
const WAITING: u32 = 2;
const DEAD: u32 = 3;
const PHASE: u32 = 3;
const NOTIFIED: u32 = 4;
const ABORTED: u32 = 8;

/// A goroutine of the model.
#[derive(Debug)]
struct G {
    id: u64,
    word: AtomicU32,
    name: Option<String>,
}

impl G {
    fn fact(&self) -> TracedG<'_> {
        let futures: [fn() -> &'static str; 3] =
            [|| "app::a::{{closure}}", || "app::b", std::any::type_name::<Vec<u8>>];
        let spawn = Spawn { site: Location::caller(), future: futures[self.id as usize % 3] };
        TracedG { id: self.id, spawn: Some(spawn), name: self.name.as_deref() }
    }
}

/// What the lock of the idle lists protects.
#[derive(Debug, Default)]
struct Lists {
    idle: Vec<usize>,
    /// By worker.
    rights: Vec<Option<usize>>,
    polls: Vec<bool>,
    /// The worker must give up its P.
    handed_off: Vec<bool>,
}

/// The scheduler.
struct Model {
    tracer: Tracer,
    on: AtomicBool,
    stop: AtomicBool,
    next_id: AtomicU64,
    queue: Mutex<VecDeque<Arc<G>>>,
    /// The living goroutines, and some dead ones.
    all: Mutex<Vec<Arc<G>>>,
    lists: Mutex<Lists>,
}

const WORKERS: usize = 5;
const PROCS: usize = 3;
const GOROUTINES: usize = 60;

/// The OS thread of a worker.
fn thread_of(worker: usize) -> u64 {
    100 + worker as u64
}

/// The model as the tracer sees it.
struct View(&'static Model);

impl Scheduler for View {
    fn walk(&self, f: &mut dyn FnMut(&TracedG<'_>, Rest)) {
        let all = self.0.all.lock().unwrap().clone();
        for g in all {
            match g.word.load(Relaxed) & PHASE {
                WAITING => f(&g.fact(), Rest::Waiting),
                DEAD => {}
                _ => f(&g.fact(), Rest::Runnable),
            }
        }
    }

    fn running(&self, _f: &mut dyn FnMut(u64, Option<Right>, &TracedG<'_>)) {}

    fn max_procs(&self) -> u64 {
        PROCS as u64
    }

    fn switch(&self, is_on: bool) {
        // Without a barrier: hooks see it late, which they may.
        self.0.on.store(is_on, Relaxed);
    }
}

/// A thread of the model.
struct Actor {
    model: &'static Model,
    stream: Arc<Stream>,
    worker: Option<usize>,
    rand: Rand,
    regions: Vec<RegionId>,
}

impl Actor {
    fn new(model: &'static Model, thread: u64, worker: Option<usize>, seed: u64) -> Self {
        let stream = model.tracer.stream_of(thread);
        Self { model, stream, worker, rand: Rand::new(seed ^ thread << 32), regions: Vec::new() }
    }

    fn hook<R>(&self, f: impl FnOnce(&mut Writer<'_>) -> R) -> Option<R> {
        if !self.model.on.load(Relaxed) {
            return None;
        }
        self.stream.writer(&self.model.tracer).map(|mut writer| f(&mut writer))
    }

    fn chance(&self, percent: u32) -> bool {
        self.rand.next_u32() % 100 < percent
    }

    fn right(&self) -> Option<Right> {
        let lists = self.model.lists.lock().unwrap();
        let number = lists.rights[self.worker?]?;
        Some(Right { runtime: 1, number })
    }

    fn spawn(&self) {
        let model = self.model;
        if model.all.lock().unwrap().len() > GOROUTINES {
            return;
        }
        let id = model.next_id.fetch_add(1, Relaxed);
        let name = id.is_multiple_of(4).then(|| format!("name {}", id % 7));
        let g = Arc::new(G { id, word: AtomicU32::new(RUNNABLE), name });
        // From here a walk sees it.
        model.all.lock().unwrap().push(g.clone());
        if self.chance(5) {
            std::thread::yield_now();
        }
        let right = self.right();
        self.hook(|writer| writer.created(&g.fact(), right));
        model.queue.lock().unwrap().push_back(g);
    }

    /// Wakes a goroutine, or aborts it.
    fn wake(&self) {
        let living = self.model.all.lock().unwrap().clone();
        let Some(g) = living.get(self.rand.next_u32() as usize % living.len().max(1)) else {
            return;
        };
        let flags = if self.chance(20) { ABORTED } else { 0 };
        let before = g.word.fetch_update(AcqRel, Acquire, |word| match word & PHASE {
            WAITING => Some(word & !PHASE | RUNNABLE | flags),
            RUNNING => Some(word | NOTIFIED | flags),
            RUNNABLE => Some(word | flags),
            _ => None,
        });
        if before.is_ok_and(|word| word & PHASE == WAITING) {
            if self.chance(5) {
                std::thread::yield_now();
            }
            self.hook(|writer| writer.unblocked(&g.fact()));
            self.model.queue.lock().unwrap().push_back(g.clone());
        }
    }

    fn annotate(&mut self) {
        match self.rand.next_u32() % 5 {
            0 => drop(self.hook(|writer| {
                let task = writer.task_begins(0, "task");
                task.map(|task| {
                    writer.logs(task, "key", &"é".repeat(700));
                    writer.task_ends(task);
                })
            })),
            1 | 2 => {
                let name = ["one", "two", "three"][self.rand.next_u32() as usize % 3];
                let region = self.hook(|writer| writer.region_begins(0, name)).flatten();
                self.regions.extend(region);
            }
            _ if !self.regions.is_empty() => {
                // Of any goroutine, in any order.
                let at = self.rand.next_u32() as usize % self.regions.len();
                let region = self.regions.swap_remove(at);
                self.hook(|writer| writer.region_ends(region));
            }
            _ => {}
        }
    }

    /// A blocking call, which may lose the P.
    fn call(&mut self, worker: usize) {
        if self.model.lists.lock().unwrap().handed_off[worker] {
            return;
        }
        if self.chance(30) {
            self.hand_off(worker);
        } else {
            let right = self.right();
            self.hook(|writer| writer.call_begins(right));
        }
        for _ in 0..self.rand.next_u32() % 4 {
            match self.rand.next_u32() % 4 {
                0 => self.spawn(),
                1 => self.wake(),
                2 => self.annotate(),
                _ => std::thread::yield_now(),
            }
        }
        self.hook(|writer| writer.call_ends());
        self.reactivate(worker);
    }

    /// Takes the P of `victim`, which may be this thread.
    fn hand_off(&self, victim: usize) {
        let model = self.model;
        let mut lists = model.lists.lock().unwrap();
        if !lists.polls[victim] || lists.handed_off[victim] {
            return;
        }
        let Some(number) = lists.rights[victim] else { return };
        let loss = [Loss::Call, Loss::Blocked, Loss::Computes][number % 3];
        if self.worker == Some(victim) {
            self.hook(|writer| writer.hands_off());
        } else {
            let stream = model.tracer.stream_of(thread_of(victim));
            self.hook(|writer| {
                if let Some(mut victim) = stream.writer(&model.tracer) {
                    writer.takes_p_of(&mut victim, loss);
                }
            });
        }
        lists.rights[victim] = None;
        lists.handed_off[victim] = true;
        lists.idle.push(number);
    }

    fn reactivate(&self, worker: usize) -> bool {
        let mut lists = self.model.lists.lock().unwrap();
        if !lists.handed_off[worker] {
            return true;
        }
        let Some(number) = lists.idle.pop() else { return false };
        lists.rights[worker] = Some(number);
        lists.handed_off[worker] = false;
        drop(lists);
        let right = Some(Right { runtime: 1, number });
        self.hook(|writer| writer.gets_p(right));
        true
    }

    /// Gives the P up between polls.
    fn park(&self, worker: usize) {
        self.hook(|writer| writer.loses_p());
        let mut lists = self.model.lists.lock().unwrap();
        lists.handed_off[worker] = false;
        if let Some(number) = lists.rights[worker].take() {
            lists.idle.push(number);
        }
    }

    fn poll(&mut self, g: Arc<G>, worker: usize) {
        let right = self.right();
        self.hook(|writer| writer.started(&g.fact(), right));
        self.model.lists.lock().unwrap().polls[worker] = true;
        let before = g.word.fetch_add(RUNNING - RUNNABLE, AcqRel);
        assert_eq!(before & PHASE, RUNNABLE);
        if before & ABORTED != 0 {
            return self.complete(g, worker);
        }
        for _ in 0..self.rand.next_u32() % 8 {
            match self.rand.next_u32() % 10 {
                0 | 1 => self.spawn(),
                2..=4 => self.wake(),
                5 | 6 => self.annotate(),
                7 => self.call(worker),
                _ => std::thread::yield_now(),
            }
        }
        if self.chance(15) {
            return self.complete(g, worker);
        }
        let yields = self.chance(30);
        let reason = match yields {
            true => LeaveReason::Yield,
            false => {
                let reason = self.rand.next_u32() as usize % wait_reason::ALL.len();
                LeaveReason::Wait(wait_reason::ALL[reason])
            }
        };
        let leave = || {
            g.word
                .fetch_update(AcqRel, Acquire, |word| {
                    let phase = if yields || word & NOTIFIED != 0 { RUNNABLE } else { WAITING };
                    (word & ABORTED == 0).then_some(word & !(PHASE | NOTIFIED) | phase)
                })
                .map_or(PollExit::Stays, |before| match yields || before & NOTIFIED != 0 {
                    true => PollExit::Queued,
                    false => PollExit::Parked,
                })
        };
        // As `hook::leaving`.
        let right = self.right();
        let traced = self.hook(|writer| {
            let leaving = writer.leaving(&g.fact(), right, reason);
            let exit = leave();
            if let Some(leaving) = leaving {
                writer.left(&leaving, exit);
            }
            exit
        });
        let exit = traced.unwrap_or_else(leave);
        if exit == PollExit::Stays {
            return self.complete(g, worker);
        }
        self.model.lists.lock().unwrap().polls[worker] = false;
        if exit == PollExit::Queued {
            self.model.queue.lock().unwrap().push_back(g);
        }
    }

    fn complete(&mut self, g: Arc<G>, worker: usize) {
        g.word.store(DEAD, Relaxed);
        let id = g.id;
        self.model.all.lock().unwrap().retain(|other| other.id != id);
        self.hook(|writer| writer.ended(id));
        self.model.lists.lock().unwrap().polls[worker] = false;
    }

    fn work(mut self, worker: usize) {
        while !self.model.stop.load(Relaxed) {
            if !self.reactivate(worker) || self.chance(5) {
                self.park(worker);
            }
            if self.right().is_none() {
                let mut lists = self.model.lists.lock().unwrap();
                let Some(number) = lists.idle.pop() else {
                    drop(lists);
                    std::thread::yield_now();
                    continue;
                };
                lists.rights[worker] = Some(number);
                drop(lists);
                let right = Some(Right { runtime: 1, number });
                self.hook(|writer| writer.gets_p(right));
            }
            let next = self.model.queue.lock().unwrap().pop_front();
            match next {
                Some(g) => self.poll(g, worker),
                None => self.park(worker),
            }
        }
        self.park(worker);
        self.model.tracer.end_stream(&self.stream);
    }

    fn monitor(self) {
        while !self.model.stop.load(Relaxed) {
            self.hand_off(self.rand.next_u32() as usize % WORKERS);
            self.wake();
            std::thread::yield_now();
        }
        self.model.tracer.end_stream(&self.stream);
    }

    /// Runs an external thread, which ends after 200 steps. Later threads get its number.
    fn visit(self) {
        for _ in 0..200 {
            if self.chance(50) {
                self.spawn()
            } else {
                self.wake()
            }
            std::thread::yield_now();
        }
        self.model.tracer.end_stream(&self.stream);
    }
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn accepted(name: &str, file: &[u8]) -> Summary {
    let summary = check(file).unwrap_or_else(|why| {
        let path = std::env::temp_dir().join(format!("gmp-{name}-{}.bad", std::process::id()));
        std::fs::write(&path, file).unwrap();
        panic!("{}: {why}", path.display())
    });
    check_with_go(name, file);
    summary
}

impl Model {
    /// Makes a model. The thread of a tracer keeps it for ever.
    fn leak() -> &'static Self {
        let lists = Lists {
            idle: (0..PROCS).collect(),
            rights: vec![None; WORKERS],
            polls: vec![false; WORKERS],
            handed_off: vec![false; WORKERS],
        };
        Box::leak(Box::new(Self {
            tracer: Tracer::new(),
            on: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            queue: Mutex::default(),
            all: Mutex::default(),
            lists: Mutex::new(lists),
        }))
    }

    /// Records three traces, and a flight recorder that begins before them or between them.
    fn record(&'static self, seed: u64) -> Vec<(String, Vec<u8>)> {
        let (tracer, rand, mut files) = (&self.tracer, Rand::new(seed), Vec::new());
        let view: &'static View = Box::leak(Box::new(View(self)));
        let rest = || std::thread::sleep(Duration::from_millis(u64::from(rand.next_u32() % 8)));
        let start_ring = || tracer.start_ring(view, Duration::from_millis(10), 1 << 20).unwrap();
        rest();
        let early = rand.next_u32().is_multiple_of(2);
        if early {
            start_ring();
        }
        for round in 0..3 {
            let file = Shared::default();
            tracer.start_file(view, file.clone()).unwrap();
            if round == 1 && !early {
                start_ring();
            }
            for _ in 0..rand.next_u32() % 6 {
                rest();
                tracer.request_flip();
            }
            if early || round > 0 {
                files.push((format!("model-{seed}-{round}-flight"), tracer.record()));
            }
            rest();
            tracer.stop_file().unwrap().finish(None).unwrap();
            files.push((format!("model-{seed}-{round}"), file.0.lock().unwrap().clone()));
            rest();
        }
        files.push((format!("model-{seed}-last-flight"), tracer.record()));
        tracer.stop_ring();
        assert!(!self.on.load(Relaxed), "nothing is recorded any more");
        files
    }
}

/// Ends the threads of the model when it is dropped, also by a failed assertion.
struct Stop(&'static Model);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
    }
}

/// Runs the model. Adds the numbers of events in all files, by type, to `seen`.
fn run(seed: u64, seen: &mut BTreeMap<u8, usize>) {
    let model = Model::leak();
    let files = std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let actor = Actor::new(model, thread_of(worker), Some(worker), seed);
            scope.spawn(move || actor.work(worker));
        }
        scope.spawn(move || Actor::new(model, 1, None, seed).monitor());
        for thread in [2, 3] {
            scope.spawn(move || {
                let mut life = 0;
                while !model.stop.load(Relaxed) {
                    life += 1;
                    Actor::new(model, thread, None, seed + life).visit();
                }
            });
        }
        let _stop = Stop(model);
        model.record(seed)
    });
    for (name, file) in files {
        for (event, count) in accepted(&name, &file).events {
            *seen.entry(event).or_default() += count;
        }
    }
}

#[test]
fn files_of_a_random_scheduler_are_accepted() {
    let seeds: u64 = std::env::var("GMP_TRACE_SEEDS").map_or(6, |n| n.parse().unwrap());
    let mut seen = BTreeMap::new();
    (1..=seeds).for_each(|seed| run(seed, &mut seen));
    for event in (9..=14).chain([16, 17]).chain(19..=24).chain(39..=44).chain([48]) {
        assert!(seen.contains_key(&event), "no file has an event {event}: {seen:?}");
    }
}
