//! Pipes for the kernel to move bytes through, and the few that are kept for the next.
//!
//! A copy takes one when there is something to move and gives it back as soon as it is empty: one that
//! waits for its reader has none. (Go's holds its pipe for as long as the copy lasts, which is two more
//! descriptors for each idle connection of a proxy.)

use gmp_rt::prim::fixed::Mutex;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// How many are kept: no more are filled at a time than threads run.
const KEPT: usize = 8;

/// Room of a pipe. An unprivileged user may have 64 MiB in pipes: at 1 MiB, which Go takes, 64 busy
/// connections would use that up for all programs of the user. See the figures in `copy`.
const ROOM: usize = 256 << 10;

static POOL: Mutex<Vec<Pipe>> = Mutex::new(Vec::new());

/// A pipe and what is in it. Dropping one with bytes in it closes it.
#[derive(Debug)]
pub(super) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    bytes: usize,
}

impl Pipe {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// If there are no descriptors left.
    pub(super) fn take() -> io::Result<Self> {
        if let Some(pipe) = POOL.lock().pop() {
            return Ok(pipe);
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // The user may have reached a limit: then it has less room.
        let _ = fcntl_setpipe_size(&writer, ROOM);
        Ok(Self { reader, writer, bytes: 0 })
    }

    /// Gives it back. One that is not empty is closed: what is in it is nobody's any more.
    pub(super) fn give_back(self) {
        // Closed, if it is, after the lock is released.
        let mut pool = POOL.lock();
        if self.bytes == 0 && pool.len() < KEPT {
            pool.push(self);
        } else {
            drop(pool);
        }
    }

    /// How much is in it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Moves bytes in, as many as `from` has and there is room for; 0 at its end. It must be empty, so
    /// that `WouldBlock` speaks of `from`.
    pub(super) fn fill(&mut self, from: impl AsFd) -> Result<usize, Errno> {
        debug_assert_eq!(self.bytes, 0, "full and without input would look the same");
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        self.bytes = splice(from, None, &self.writer, None, ROOM, flags)?;
        Ok(self.bytes)
    }

    /// Moves bytes out to `to`, as many as it takes.
    pub(super) fn empty(&mut self, to: impl AsFd) -> Result<usize, Errno> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let n = splice(&self.reader, None, to, None, self.bytes, flags)?;
        self.bytes -= n;
        Ok(n)
    }

    /// Reads what is in it.
    pub(super) fn into_bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        let mut filled = 0;
        while filled < bytes.len() {
            match rustix::io::read(&self.reader, &mut bytes[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => filled += n,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.bytes = 0;
        self.give_back();
        Ok(bytes)
    }
}
