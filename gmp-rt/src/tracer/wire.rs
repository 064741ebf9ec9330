//! The wire format of Go's execution traces, version 2.
//!
//! A trace is a header and generations. A generation is a sequence of batches and an end mark. A
//! batch has the generation, a thread, a start time and events. All integers are LEB128.

/// The first bytes of a trace.
pub(super) const HEADER: &[u8; 16] = b"go 1.26 trace\0\0\0";

/// Maximum length of the data of a batch.
pub(super) const MAX_BATCH: usize = 65536;

/// Maximum length of a string.
pub(super) const MAX_STRING: usize = 1024;

/// The thread of batches that belong to no thread.
pub(super) const NO_THREAD: u64 = u64::MAX;

/// Times are in nanoseconds.
pub(super) const FREQUENCY: u64 = 1_000_000_000;

/// Event types. The comment has the arguments after the time.
pub(super) mod op {
    /// generation, thread, time, size
    pub(crate) const EVENT_BATCH: u8 = 1;
    pub(crate) const STACKS: u8 = 2;
    /// id, frames, then per frame: pc, function, file, line
    pub(crate) const STACK: u8 = 3;
    pub(crate) const STRINGS: u8 = 4;
    /// id, length, bytes
    pub(crate) const STRING: u8 = 5;
    /// ticks per second
    pub(crate) const FREQUENCY: u8 = 8;
    /// procs, stack
    pub(crate) const PROCS_CHANGE: u8 = 9;
    /// p, p_seq
    pub(crate) const PROC_START: u8 = 10;
    pub(crate) const PROC_STOP: u8 = 11;
    /// p, p_seq, thread
    pub(crate) const PROC_STEAL: u8 = 12;
    /// p, status
    pub(crate) const PROC_STATUS: u8 = 13;
    /// g, stack of g, stack
    pub(crate) const GO_CREATE: u8 = 14;
    /// g, g_seq
    pub(crate) const GO_START: u8 = 16;
    pub(crate) const GO_DESTROY: u8 = 17;
    /// reason, stack
    pub(crate) const GO_STOP: u8 = 19;
    /// reason, stack
    pub(crate) const GO_BLOCK: u8 = 20;
    /// g, g_seq, stack
    pub(crate) const GO_UNBLOCK: u8 = 21;
    /// p_seq, stack
    pub(crate) const GO_SYSCALL_BEGIN: u8 = 22;
    pub(crate) const GO_SYSCALL_END: u8 = 23;
    pub(crate) const GO_SYSCALL_END_BLOCKED: u8 = 24;
    /// g, thread, status
    pub(crate) const GO_STATUS: u8 = 25;
    /// label
    pub(crate) const GO_LABEL: u8 = 39;
    /// task, parent, name, stack
    pub(crate) const USER_TASK_BEGIN: u8 = 40;
    /// task, stack
    pub(crate) const USER_TASK_END: u8 = 41;
    /// task, name, stack
    pub(crate) const USER_REGION_BEGIN: u8 = 42;
    /// task, name, stack
    pub(crate) const USER_REGION_END: u8 = 43;
    /// task, key, value, stack
    pub(crate) const USER_LOG: u8 = 44;
    /// g, thread, status, stack
    pub(crate) const GO_STATUS_STACK: u8 = 48;
    pub(crate) const SYNC: u8 = 50;
    /// time, monotonic ns, wall seconds, wall nanoseconds
    pub(crate) const CLOCK_SNAPSHOT: u8 = 51;
    pub(crate) const END_OF_GENERATION: u8 = 52;
}

/// Statuses of a P.
pub(super) mod p_status {
    pub(crate) const RUNNING: u64 = 1;
    pub(crate) const IDLE: u64 = 2;
    pub(crate) const CALL: u64 = 3;
}

/// Returns how many arguments an event has after its time; `None` if it is none that gmp writes.
pub(super) fn args_of(event: u8) -> Option<usize> {
    Some(match event {
        op::PROC_STOP | op::GO_DESTROY | op::GO_SYSCALL_END | op::GO_SYSCALL_END_BLOCKED => 0,
        op::GO_LABEL => 1,
        op::PROCS_CHANGE
        | op::PROC_START
        | op::PROC_STATUS
        | op::GO_START
        | op::GO_STOP
        | op::GO_BLOCK
        | op::GO_SYSCALL_BEGIN
        | op::USER_TASK_END => 2,
        op::PROC_STEAL
        | op::GO_CREATE
        | op::GO_UNBLOCK
        | op::GO_STATUS
        | op::USER_REGION_BEGIN
        | op::USER_REGION_END => 3,
        op::USER_TASK_BEGIN | op::USER_LOG | op::GO_STATUS_STACK => 4,
        _ => return None,
    })
}

/// Appends `value` as LEB128.
#[inline]
pub(super) fn put_uint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a LEB128 number off the front of `data`. `None` at the end of the data.
pub(super) fn take_uint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = data.split_first()?;
        *data = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Appends the event `event` with the time difference `delta`.
#[inline]
pub(super) fn put_event(out: &mut Vec<u8>, event: u8, delta: u64, args: &[u64]) {
    debug_assert_eq!(args_of(event), Some(args.len()), "event {event}");
    out.push(event);
    put_uint(out, delta);
    args.iter().for_each(|arg| put_uint(out, *arg));
}

/// Appends a batch.
pub(super) fn put_batch(out: &mut Vec<u8>, generation: u64, thread: u64, time: u64, data: &[u8]) {
    debug_assert!(data.len() <= MAX_BATCH, "a batch of {} bytes", data.len());
    out.push(op::EVENT_BATCH);
    for value in [generation, thread, time, data.len() as u64] {
        put_uint(out, value);
    }
    out.extend_from_slice(data);
}

/// Calls `f` with the type and the arguments of each event of a batch.
pub(super) fn for_each_event(mut data: &[u8], mut f: impl FnMut(u8, &[u64])) {
    let mut args = [0; 4];
    while let Some((event, rest)) = data.split_first() {
        data = rest;
        let Some(count) = args_of(*event) else { return };
        // The time.
        let _ = take_uint(&mut data);
        for arg in &mut args[..count] {
            *arg = take_uint(&mut data).unwrap_or(0);
        }
        f(*event, &args[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|n| put_uint(&mut out, *n));
        let mut data = &out[..];
        assert_eq!(numbers.map(|_| take_uint(&mut data)), numbers.map(Some));
        assert_eq!(take_uint(&mut data), None);
        assert_eq!(take_uint(&mut &[0x80_u8][..]), None);
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        let mut out = Vec::new();
        put_event(&mut out, op::GO_START, 1000, &[77, 2]);
        put_event(&mut out, op::GO_DESTROY, 5, &[]);
        let mut seen = Vec::new();
        for_each_event(&out, |event, args| seen.push((event, args.to_vec())));
        assert_eq!(seen, [(op::GO_START, vec![77, 2]), (op::GO_DESTROY, vec![])]);
    }
}
