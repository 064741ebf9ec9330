//! Tasks, regions and logs of programs.
//!
//! The regions of a goroutine nest in a trace. Two futures of one goroutine may end their regions
//! in any order, so the open regions of each goroutine are kept here. The end of a region that is
//! not the innermost ends those inside of it first, and begins them again after it.

use super::stream::Writer;
use super::wire::op;
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::{AtomicUsize, Mutex};
use std::collections::HashMap;
use std::sync::Arc;

/// An open region.
#[derive(Clone, Debug)]
struct OpenRegion {
    id: u64,
    task: u64,
    name: Arc<str>,
    /// Whether it was dropped where its goroutine does not run.
    is_dropped: bool,
}

/// The open regions by goroutine, and the numbers of tasks and regions.
#[derive(Debug, Default)]
pub(super) struct Regions {
    open: Mutex<RegionTable>,
    /// The number of goroutines in the table. Written under its lock.
    len: AtomicUsize,
}

#[derive(Debug, Default)]
struct RegionTable {
    last_id: u64,
    by_goroutine: Option<HashMap<u64, Vec<OpenRegion>>>,
}

impl RegionTable {
    fn map(&mut self) -> &mut HashMap<u64, Vec<OpenRegion>> {
        self.by_goroutine.get_or_insert_default()
    }
}

/// A region that was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegionId {
    goroutine: u64,
    id: u64,
}

impl Regions {
    pub(super) const fn new() -> Self {
        let table = RegionTable { last_id: 0, by_goroutine: None };
        Self { open: Mutex::new(table), len: AtomicUsize::new(0) }
    }

    /// Returns a new number for a task or a region; never 0.
    pub(super) fn next_id(&self) -> u64 {
        let mut table = self.open.lock();
        table.last_id += 1;
        table.last_id
    }

    /// Forgets all open regions.
    pub(super) fn clear(&self) {
        self.change(|map| map.clear());
    }

    fn change<R>(&self, f: impl FnOnce(&mut HashMap<u64, Vec<OpenRegion>>) -> R) -> R {
        let mut table = self.open.lock();
        let result = f(table.map());
        self.len.store(table.map().len(), Relaxed); // Relaxed: a hint, see `may_have`
        result
    }

    /// Whether the goroutine that runs on this thread may have open regions. Exact, because they
    /// are begun where it runs.
    fn may_have(&self) -> bool {
        self.len.load(Relaxed) > 0
    }
}

/// A begin or an end to write.
#[derive(Debug)]
struct RegionStep {
    event: u8,
    task: u64,
    name: Arc<str>,
}

impl RegionStep {
    fn new(event: u8, region: &OpenRegion) -> Self {
        Self { event, task: region.task, name: region.name.clone() }
    }
}

/// Takes the region `at` out of those of a goroutine. Returns the events for that.
fn end_at(open: &mut Vec<OpenRegion>, at: usize) -> Vec<RegionStep> {
    let mut steps: Vec<RegionStep> = open[at..]
        .iter()
        .rev()
        .map(|region| RegionStep::new(op::USER_REGION_END, region))
        .collect();
    open.remove(at);
    steps.extend(open[at..].iter().map(|region| RegionStep::new(op::USER_REGION_BEGIN, region)));
    steps
}

impl Writer<'_> {
    fn put_steps(&mut self, steps: Vec<RegionStep>) {
        for RegionStep { event, task, name } in steps {
            let name = self.string(&name);
            let stack = self.own_stack(None);
            self.event(event, &[task, name, stack]);
        }
    }

    /// Makes the goroutine of the thread run in the file. Returns its id.
    fn annotates(&mut self) -> Option<u64> {
        let running = self.state.running?;
        self.run(None);
        self.show();
        Some(running.id)
    }

    /// Begins a region of the goroutine of the thread.
    pub(super) fn region_begins(&mut self, task: u64, name: &str) -> Option<RegionId> {
        let goroutine = self.annotates()?;
        let id = self.tracer.regions.next_id();
        let region = OpenRegion { id, task, name: name.into(), is_dropped: false };
        let step = RegionStep::new(op::USER_REGION_BEGIN, &region);
        self.tracer.regions.change(|map| map.entry(goroutine).or_default().push(region));
        self.put_steps(vec![step]);
        Some(RegionId { goroutine, id })
    }

    /// Ends a region. If its goroutine does not run on this thread, it ends when that runs next.
    pub(super) fn region_ends(&mut self, region: RegionId) {
        let RegionId { goroutine, id } = region;
        let is_here = self.state.running.is_some_and(|running| running.id == goroutine);
        if is_here {
            self.annotates();
        }
        let steps = self.tracer.regions.change(|map| {
            let open = map.get_mut(&goroutine)?;
            let at = open.iter().position(|open| open.id == id)?;
            if !is_here {
                open[at].is_dropped = true;
                return None;
            }
            let steps = end_at(open, at);
            if open.is_empty() {
                map.remove(&goroutine);
            }
            Some(steps)
        });
        self.put_steps(steps.unwrap_or_default());
    }

    /// Ends the regions of the goroutine of the thread that were dropped elsewhere.
    pub(super) fn end_dropped_regions(&mut self) {
        if !self.tracer.regions.may_have() {
            return;
        }
        let Some(running) = self.state.running else { return };
        let steps = self.tracer.regions.change(|map| {
            let open = map.get_mut(&running.id)?;
            let mut steps = Vec::new();
            while let Some(at) = open.iter().rposition(|region| region.is_dropped) {
                steps.extend(end_at(open, at));
            }
            if open.is_empty() {
                map.remove(&running.id);
            }
            Some(steps)
        });
        self.put_steps(steps.unwrap_or_default());
    }

    /// Ends all regions of the goroutine of the thread, which ends.
    pub(super) fn end_all_regions(&mut self) {
        if !self.tracer.regions.may_have() {
            return;
        }
        let Some(running) = self.state.running else { return };
        let open = self.tracer.regions.change(|map| map.remove(&running.id)).unwrap_or_default();
        let ends = open.iter().rev().map(|region| RegionStep::new(op::USER_REGION_END, region));
        self.put_steps(ends.collect());
    }

    /// Begins a task in the goroutine of the thread.
    pub(super) fn task_begins(&mut self, parent: u64, name: &str) -> Option<u64> {
        self.annotates()?;
        let id = self.tracer.regions.next_id();
        let name = self.string(name);
        let stack = self.own_stack(None);
        self.event(op::USER_TASK_BEGIN, &[id, parent, name, stack]);
        Some(id)
    }

    /// Ends a task.
    pub(super) fn task_ends(&mut self, id: u64) {
        if self.annotates().is_some() {
            let stack = self.own_stack(None);
            self.event(op::USER_TASK_END, &[id, stack]);
        }
    }

    /// Writes a message.
    pub(super) fn logs(&mut self, task: u64, key: &str, value: &str) {
        if self.annotates().is_some() {
            let (key, value) = (self.string(key), self.string(value));
            let stack = self.own_stack(None);
            self.event(op::USER_LOG, &[task, key, value, stack]);
        }
    }
}
