//! The cost model of one cache line: which cores have it, and how long the next core waits for it.
//!
//! One core writes a line at a time. A core without the line fetches it, which takes
//! [`Costs::near`] from a core of the same socket and [`Costs::far`] from another socket. While a
//! line is fetched or held, no other core gets it, so writers queue. A read leaves copies in both
//! caches and occupies the line for [`Costs::served`] only. The next write has to invalidate all
//! copies. This is MESI without its corner cases and without other limits such as bandwidth or the
//! directory, so real machines are slower, not faster.

/// Maximum number of cores.
pub(super) const MAX_CORES: usize = 256;

/// Costs of operations, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// A write to a line that only this core has.
    pub(super) hit: u64,
    /// A read of a line in this core's cache. 256 lines do not fit into the nearest level.
    pub(super) look: u64,
    /// A fetch from a core of the same socket.
    pub(super) near: u64,
    /// A fetch from another socket.
    pub(super) far: u64,
    /// The time for which a read that misses keeps the line from other cores.
    pub(super) served: u64,
    /// Cores of a socket.
    pub(super) socket: usize,
}

impl Default for Costs {
    fn default() -> Self {
        Self { hit: 2, look: 3, near: 100, far: 250, served: 20, socket: 64 }
    }
}

impl Costs {
    fn fetch(&self, from: usize, to: usize) -> u64 {
        if from / self.socket == to / self.socket { self.near } else { self.far }
    }
}

/// A set of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cores([u64; MAX_CORES / 64]);

impl Cores {
    fn only(core: usize) -> Self {
        let mut cores = Self::default();
        cores.add(core);
        cores
    }

    fn add(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }

    fn has(self, core: usize) -> bool {
        self.0[core / 64] >> (core % 64) & 1 == 1
    }
}

/// A line and its state.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The core that wrote last.
    writer: usize,
    copies: Cores,
    free_at: u64,
    /// The time during which it was fetched or held.
    pub(super) busy: u64,
}

impl Line {
    /// Returns a line in the cache of `core`.
    pub(super) fn of(core: usize) -> Self {
        Self { writer: core, copies: Cores::only(core), free_at: 0, busy: 0 }
    }

    /// Writes at `now` and keeps the line for `hold` (the time of a lock, or 0). Returns the time
    /// of completion.
    pub(super) fn write(&mut self, now: u64, core: usize, hold: u64, costs: &Costs) -> u64 {
        let alone = self.copies == Cores::only(core);
        let price = hold + if alone { costs.hit } else { costs.fetch(self.writer, core) };
        let done = now.max(self.free_at) + price;
        (self.writer, self.copies) = (core, Cores::only(core));
        (self.free_at, self.busy) = (done, self.busy + price);
        done
    }

    /// Reads at `now`. Returns the time of completion.
    pub(super) fn read(&mut self, now: u64, core: usize, costs: &Costs) -> u64 {
        if self.copies.has(core) {
            return now + costs.look;
        }
        let start = now.max(self.free_at);
        self.copies.add(core);
        (self.free_at, self.busy) = (start + costs.served, self.busy + costs.served);
        start + costs.fetch(self.writer, core)
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, Line};

    #[test]
    fn an_unshared_line_costs_a_hit() {
        let (mut line, costs) = (Line::of(3), Costs::default());
        assert_eq!(line.write(0, 3, 0, &costs), costs.hit);
        assert_eq!(line.read(10, 3, &costs), 10 + costs.look);
    }

    #[test]
    fn writers_wait_for_each_other() {
        let (mut line, costs) = (Line::of(0), Costs::default());
        assert_eq!(line.write(0, 1, 7, &costs), 107);
        assert_eq!(line.write(0, 2, 7, &costs), 214);
        assert_eq!(line.write(0, 64, 0, &costs), 214 + costs.far);
    }

    #[test]
    fn a_read_costs_the_writer_its_line() {
        let (mut line, costs) = (Line::of(0), Costs::default());
        assert_eq!(line.read(0, 1, &costs), costs.near);
        assert_eq!(line.read(500, 1, &costs), 500 + costs.look);
        assert_eq!(line.write(1000, 0, 0, &costs), 1000 + costs.near);
    }
}
