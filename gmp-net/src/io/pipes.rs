//! Pipes through which the kernel moves bytes, and a pool of them.
//!
//! A copy takes a pipe when there is something to move and gives it back as soon as it is empty. So
//! a copy that waits for its reader holds no pipe. Go's copy holds its pipe until it ends, which is
//! two more descriptors for each idle connection of a proxy.

use gmp_rt::prim::fixed::Mutex;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Maximum number of pipes in the pool. Chosen.
const KEPT: usize = 8;

/// Capacity of a pipe. Chosen: an unprivileged user may have 64 MiB in pipes. With Go's 1 MiB, 64
/// busy connections would use that up for all programs of the user.
const ROOM: usize = 256 << 10;

static POOL: Mutex<Vec<Pipe>> = Mutex::new(Vec::new());

/// A pipe and the number of bytes in it. Dropping it closes it and discards the bytes.
#[derive(Debug)]
pub(super) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    bytes: usize,
}

impl Pipe {
    /// Returns an empty pipe.
    ///
    /// # Errors
    ///
    /// If there are no descriptors left.
    pub(super) fn take() -> io::Result<Self> {
        if let Some(pipe) = POOL.lock().pop() {
            return Ok(pipe);
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // If the user has reached a limit, the pipe keeps its smaller default capacity.
        let _ = fcntl_setpipe_size(&writer, ROOM);
        Ok(Self { reader, writer, bytes: 0 })
    }

    /// Gives the pipe back to the pool. Closes it if it is not empty or the pool is full.
    pub(super) fn give_back(self) {
        // A pipe that is not kept is closed after the lock is released.
        let mut pool = POOL.lock();
        if self.bytes == 0 && pool.len() < KEPT {
            pool.push(self);
        } else {
            drop(pool);
        }
    }

    /// Returns the number of bytes in the pipe.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Moves bytes in, as many as `from` has and as fit. Returns 0 at the end of `from`. The pipe
    /// must be empty, so that `WouldBlock` refers to `from`.
    pub(super) fn fill(&mut self, from: impl AsFd) -> Result<usize, Errno> {
        debug_assert_eq!(self.bytes, 0, "full and without input would look the same");
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        self.bytes = splice(from, None, &self.writer, None, ROOM, flags)?;
        Ok(self.bytes)
    }

    /// Moves bytes out, as many as `to` takes.
    pub(super) fn empty(&mut self, to: impl AsFd) -> Result<usize, Errno> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let n = splice(&self.reader, None, to, None, self.bytes, flags)?;
        self.bytes -= n;
        Ok(n)
    }

    /// Reads the bytes in the pipe and gives it back.
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
