//! The stacks of a trace, which are made up: a goroutine has no stack while it waits.
//!
//! A stack is a leaf frame that says what the goroutine does, and a frame for its spawn: function =
//! type of the future, file and line = spawn site. The viewer calls a goroutine by its outermost
//! frame. A frame for the await site belongs between the two.

use super::fact::{LeaveReason, Spawn};
use super::goroutines::IdHasher;
use super::wire::{self, MAX_STRING};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Identifies a stack: why the goroutine left its thread, and where it was spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackKey {
    pub(super) reason: Option<LeaveReason>,
    pub(super) spawn: Option<Spawn>,
}

// One word instead of many: most events look up a stack.
impl Hash for StackKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let reason = self.reason.map_or(0, LeaveReason::text);
        let (site, future) = self.spawn.map_or((0, 0), Spawn::key);
        state.write_u64(reason ^ (site as u64) << 8 ^ (future as u64).rotate_left(32));
    }
}

/// A map whose keys hash to one word.
pub(super) type StackMap = HashMap<StackKey, u64, BuildHasherDefault<IdHasher>>;

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) function: Cow<'static, str>,
    pub(super) file: &'static str,
    pub(super) line: u32,
}

impl StackKey {
    /// Returns the frames, the leaf first.
    pub(super) fn frames(self) -> impl Iterator<Item = Frame> {
        let leaf =
            self.reason.map(|reason| Frame { function: reason.leaf().into(), file: "", line: 0 });
        let spawn = self.spawn.map(|spawn| Frame {
            function: readable((spawn.future)()),
            file: spawn.site.file(),
            line: spawn.site.line(),
        });
        leaf.into_iter().chain(spawn)
    }
}

/// The program counters of frames. They are fake: a reader takes frames with the same program
/// counter for the same frame, also in different generations.
#[derive(Debug, Default)]
pub(super) struct Pcs(HashMap<Frame, u64>);

impl Pcs {
    /// The first one. Any number but 0 will do.
    const FIRST: u64 = 0x40_0000;

    /// Returns the program counter of `frame`.
    pub(super) fn of(&mut self, frame: &Frame) -> u64 {
        if let Some(pc) = self.0.get(frame) {
            return *pc;
        }
        let pc = Self::FIRST + 16 * self.0.len() as u64;
        self.0.insert(frame.clone(), pc);
        pc
    }
}

/// Shortens the name of a type: without the marks of closures and async functions, and without
/// generic arguments if they are long.
fn readable(name: &'static str) -> Cow<'static, str> {
    const LONG: usize = 60;
    let mut short = Cow::Borrowed(name);
    for mark in ["::{{closure}}", "::{async_fn_env#0}", "::{async_block_env#0}"] {
        if short.contains(mark) {
            short = short.replace(mark, "").into();
        }
    }
    if let (Some(open), Some(close)) = (short.find('<'), short.rfind('>'))
        && close > open + LONG
    {
        short = format!("{}<…{}", &short[..open], &short[close..]).into();
    }
    match short.len() {
        // The viewer hides goroutines without a name.
        0 => "goroutine".into(),
        1..=MAX_STRING => short,
        _ => cut(&short).to_owned().into(),
    }
}

/// Returns the part of `text` that a trace may hold.
pub(super) fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_STRING);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Appends the entry of a stack to a table. Each frame has its program counter and the ids of its
/// function and file.
pub(super) fn put_stack(out: &mut Vec<u8>, id: u64, frames: &[(u64, u64, u64, u32)]) {
    out.push(wire::op::STACK);
    wire::put_uint(out, id);
    wire::put_uint(out, frames.len() as u64);
    for (pc, function, file, line) in frames {
        for value in [*pc, *function, *file, u64::from(*line)] {
            wire::put_uint(out, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_become_readable() {
        assert_eq!(readable("app::worker::{{closure}}"), "app::worker");
        assert_eq!(readable("app::f<u8>::{{closure}}::{{closure}}"), "app::f<u8>");
        assert_eq!(readable("{{closure}}"), "{{closure}}");
        assert_eq!(readable(""), "goroutine");
        let long: &'static str = format!("app::f<{}>::g", "é".repeat(100)).leak();
        assert_eq!(readable(long), "app::f<…>::g");
        let long: &'static str = "é".repeat(1000).leak();
        assert_eq!(readable(long).chars().count(), MAX_STRING / 2);
    }

    #[test]
    fn one_frame_has_one_program_counter() {
        let frame = |function: &'static str| Frame { function: function.into(), file: "", line: 1 };
        let mut pcs = Pcs::default();
        let (a, b) = (pcs.of(&frame("a")), pcs.of(&frame("b")));
        assert_ne!(a, b);
        assert_eq!((pcs.of(&frame("a")), pcs.of(&frame("b"))), (a, b));
    }
}
