//! A process that was started.

use super::exit::Exit;
use super::orphan;
use super::waited::WaitedChild;
use super::{ChildStderr, ChildStdin, ChildStdout};
use crate::poll::desc::Ticket;
use crate::signal::SignalKind;
use futures::future::try_join3;
use gmp_rt::block_in_place;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{self, ExitStatus, Output};

/// Whether the drop of a [`Child`] kills it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OnChildDrop {
    #[default]
    Continue,
    Kill,
}

/// A child process. Created by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it does not kill the process, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) is set. The process is reaped in both cases.
#[derive(Debug)]
pub struct Child {
    /// The pipe to its standard input, if that is piped.
    pub stdin: Option<ChildStdin>,
    /// The pipe from its standard output, if that is piped.
    pub stdout: Option<ChildStdout>,
    /// The pipe from its standard error, if that is piped.
    pub stderr: Option<ChildStderr>,
    /// Taken out by the drop.
    process: Option<WaitedChild>,
    on_drop: OnChildDrop,
}

impl Child {
    /// Registers a child that was just started and its pipes. If this fails, the child is killed.
    pub(super) fn new(mut child: process::Child, on_drop: OnChildDrop) -> io::Result<Self> {
        match register(&mut child) {
            Ok((exit, stdin, stdout, stderr)) => {
                let process = Some(WaitedChild::new(child, exit));
                Ok(Self { stdin, stdout, stderr, process, on_drop })
            }
            Err(error) => {
                // It has ended already, or ends now.
                let _ = block_in_place(|| child.kill().and_then(|()| child.wait()));
                Err(error)
            }
        }
    }

    fn process(&self) -> &WaitedChild {
        self.process.as_ref().expect("taken out by the drop")
    }

    fn process_mut(&mut self) -> &mut WaitedChild {
        self.process.as_mut().expect("taken out by the drop")
    }

    /// Returns the number of the process, `None` after its status was returned. Then the number may
    /// belong to another process.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process().pid()
    }

    /// Waits until the process has ended (Go: `Cmd.Wait`). Closes [`stdin`](Self::stdin) first.
    ///
    /// A process that writes to a full pipe does not end: read [`stdout`](Self::stdout) and
    /// [`stderr`](Self::stderr) in other goroutines, or use
    /// [`wait_with_output`](Self::wait_with_output). Later calls return the same status.
    ///
    /// # Errors
    ///
    /// `ECHILD` if another part of the program has reaped the process, or if it ignores SIGCHLD.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. The process continues, and the status is kept.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        let mut waits = LeaveOnDrop(self.process_mut(), Ticket::NONE);
        poll_fn(|cx| waits.0.poll_wait(&mut waits.1, cx)).await
    }

    /// [`wait`](Self::wait) for code that is not async. Blocks the thread, in a goroutine as
    /// [`block_in_place`] does.
    #[doc(alias = "blocking_wait")]
    pub fn wait_blocking(&mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        block_in_place(|| self.process_mut().wait_blocking())
    }

    /// Returns the status if the process has ended. Leaves [`stdin`](Self::stdin) open.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process_mut().try_wait()
    }

    /// Waits until the process has ended, and reads [`stdout`](Self::stdout) and
    /// [`stderr`](Self::stderr) meanwhile. Closes [`stdin`](Self::stdin) first.
    ///
    /// It returns when the pipes are at their end as well. A process that the child has started may
    /// keep them open.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe. A dropped future loses the output, and the process continues unless
    /// [`kill_on_drop`](super::Command::kill_on_drop) is set.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let read_stdout = async {
            let mut bytes = Vec::new();
            if let Some(pipe) = stdout {
                pipe.read_to_end(&mut bytes).await?;
            }
            Ok(bytes)
        };
        let read_stderr = async {
            let mut bytes = Vec::new();
            if let Some(pipe) = stderr {
                pipe.read_to_end(&mut bytes).await?;
            }
            Ok(bytes)
        };
        let (status, stdout, stderr) = try_join3(self.wait(), read_stdout, read_stderr).await?;
        Ok(Output { status, stdout, stderr })
    }

    /// Kills the process (SIGKILL) and does not wait for its end. Does nothing if it has ended.
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.process().kill()
    }

    /// Kills the process (SIGKILL) and waits for its end.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. The signal is sent in the first poll.
    #[doc(alias = "Process.Kill")]
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Sends a signal to the process (Go: `Process.Signal`).
    ///
    /// It never reaches another process: until the status was returned, the number stays that of
    /// this one.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the status was returned, and the OS's errors.
    #[doc(alias = "Process.Signal")]
    pub fn send_signal(&self, signal: SignalKind) -> io::Result<()> {
        self.process().send(signal.as_raw())
    }
}

/// A wait that leaves the list of waiters when it is dropped.
struct LeaveOnDrop<'a>(&'a mut WaitedChild, Ticket);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

/// The event of the end of a child, and its pipes.
type Registered = (Exit, Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// Registers what a child has.
fn register(child: &mut process::Child) -> io::Result<Registered> {
    let stdin = child.stdin.take().map(|pipe| ChildStdin::try_from(OwnedFd::from(pipe)));
    let stdout = child.stdout.take().map(|pipe| ChildStdout::try_from(OwnedFd::from(pipe)));
    let stderr = child.stderr.take().map(|pipe| ChildStderr::try_from(OwnedFd::from(pipe)));
    let exit = Exit::watch(child.id())?;
    Ok((exit, stdin.transpose()?, stdout.transpose()?, stderr.transpose()?))
}

impl Drop for Child {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // An error says that another part of the program has reaped it.
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        if self.on_drop == OnChildDrop::Kill {
            // It fails for a process that has changed its user.
            let _ = process.kill();
        }
        orphan::reap(process);
    }
}
