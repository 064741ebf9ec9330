//! A process to start.

use super::child::{Child, OnChildDrop};
use gmp_rt::block_in_place;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, CommandArgs, CommandEnvs, ExitStatus, Output, Stdio};

/// The standard streams that a method of [`Command`] has set.
#[derive(Clone, Copy, Debug, Default)]
struct StreamsSet {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

/// A process to start: its program, arguments, environment and streams (Go: `exec.Cmd`).
///
/// It has the methods of [`std::process::Command`]. A command can be started more than once.
///
/// # Examples
///
/// ```
/// use gmp_net::process::Command;
///
/// # gmp_rt::block_on(async {
/// let output = Command::new("echo").arg("hello").output().await?;
/// assert_eq!(output.stdout, b"hello\n");
/// assert!(Command::new("/no/such/program").status().await.is_err());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("exec.Command", "exec.Cmd", "Cmd"))]
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    set: StreamsSet,
    on_drop: OnChildDrop,
}

impl Command {
    /// Creates a command that starts `program`, which is searched for in `PATH`.
    ///
    /// The child inherits the environment, the directory and the streams of this process, unless
    /// the methods below change them.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self::with(process::Command::new(program), StreamsSet::default())
    }

    /// Wraps a command of the standard library.
    ///
    /// Its streams are unknown: [`output`](Self::output) keeps its standard input and replaces the
    /// two others by pipes.
    #[must_use]
    pub fn from_std(command: process::Command) -> Self {
        Self::with(command, StreamsSet { stdin: true, ..StreamsSet::default() })
    }

    fn with(std: process::Command, set: StreamsSet) -> Self {
        Self { std, set, on_drop: OnChildDrop::default() }
    }

    /// Returns the command of the standard library.
    #[must_use]
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// Returns the command of the standard library. Set the streams by the methods here, so that
    /// [`output`](Self::output) knows them.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// Returns the command of the standard library.
    #[must_use]
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.std.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item: AsRef<OsStr>>) -> &mut Self {
        self.std.args(args);
        self
    }

    /// Sets the name of the program that the child sees, argument 0.
    pub fn arg0(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.std.arg0(arg);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.std.env(key, value);
        self
    }

    /// Sets variables of the environment.
    pub fn envs<K, V>(&mut self, variables: impl IntoIterator<Item = (K, V)>) -> &mut Self
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(variables);
        self
    }

    /// Removes a variable of the environment.
    pub fn env_remove(&mut self, key: impl AsRef<OsStr>) -> &mut Self {
        self.std.env_remove(key);
        self
    }

    /// Removes all variables of the environment.
    pub fn env_clear(&mut self) -> &mut Self {
        self.std.env_clear();
        self
    }

    /// Sets the directory in which the child starts.
    #[doc(alias = "Dir")]
    pub fn current_dir(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.std.current_dir(path);
        self
    }

    /// Sets the standard input. Inherited by default, empty for [`output`](Self::output).
    pub fn stdin(&mut self, stream: impl Into<Stdio>) -> &mut Self {
        self.set.stdin = true;
        self.std.stdin(stream);
        self
    }

    /// Sets the standard output. Inherited by default, a pipe for [`output`](Self::output).
    pub fn stdout(&mut self, stream: impl Into<Stdio>) -> &mut Self {
        self.set.stdout = true;
        self.std.stdout(stream);
        self
    }

    /// Sets the standard error. Inherited by default, a pipe for [`output`](Self::output).
    pub fn stderr(&mut self, stream: impl Into<Stdio>) -> &mut Self {
        self.set.stderr = true;
        self.std.stderr(stream);
        self
    }

    /// Sets the user of the child.
    pub fn uid(&mut self, id: u32) -> &mut Self {
        self.std.uid(id);
        self
    }

    /// Sets the group of the child.
    pub fn gid(&mut self, id: u32) -> &mut Self {
        self.std.gid(id);
        self
    }

    /// Sets the process group of the child. 0 makes a new one. The number is that of its leader.
    #[doc(alias = "Setpgid")]
    pub fn process_group(&mut self, group: i32) -> &mut Self {
        self.std.process_group(group);
        self
    }

    /// Runs `f` in the child, between fork and exec.
    ///
    /// # Safety
    ///
    /// As for [`CommandExt::pre_exec`]: `f` may only do what is allowed in the child of a fork of a
    /// process with threads. In particular it must not allocate and must not use gmp.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Self
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises it.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Whether the child is killed (SIGKILL) when its [`Child`] is dropped, and when a future of
    /// [`status`](Self::status) or [`output`](Self::output) is dropped. `false` by default.
    pub fn kill_on_drop(&mut self, on: bool) -> &mut Self {
        self.on_drop = if on { OnChildDrop::Kill } else { OnChildDrop::Continue };
        self
    }

    /// Returns the program.
    #[must_use]
    pub fn get_program(&self) -> &OsStr {
        self.std.get_program()
    }

    /// Returns the arguments.
    pub fn get_args(&self) -> CommandArgs<'_> {
        self.std.get_args()
    }

    /// Returns the variables that differ from the inherited environment, `None` for a removed one.
    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.std.get_envs()
    }

    /// Returns the directory, if it was set.
    #[must_use]
    pub fn get_current_dir(&self) -> Option<&Path> {
        self.std.get_current_dir()
    }

    /// Starts the process (Go: `Cmd.Start`). Returns when the program runs or could not be started.
    ///
    /// Starting takes a fraction of a millisecond, more in a process with much memory. It runs
    /// inside [`block_in_place`].
    ///
    /// # Errors
    ///
    /// Those of std: `NotFound`, `PermissionDenied` and others if the program cannot be started.
    /// Besides, the errors of the registration with the netpoller, after which the child is killed:
    /// the process is out of descriptors, or its runtime ends.
    #[doc(alias = "StartProcess")]
    pub fn spawn(&mut self) -> io::Result<Child> {
        let child = block_in_place(|| self.std.spawn())?;
        Child::new(child, self.on_drop)
    }

    /// Starts the process and waits for its end (Go: `Cmd.Run`). Piped streams are closed at once.
    ///
    /// # Cancel safety
    ///
    /// A dropped future leaves the child running, unless [`kill_on_drop`](Self::kill_on_drop) is
    /// set. The child is reaped in both cases.
    pub async fn status(&mut self) -> io::Result<ExitStatus> {
        let mut child = self.spawn()?;
        (child.stdout, child.stderr) = (None, None);
        child.wait().await
    }

    /// Starts the process, waits for its end and returns what it has written (Go: `Cmd.Output`).
    ///
    /// A timeout around it leaves the child running, unless [`kill_on_drop`](Self::kill_on_drop) is
    /// set. Streams that were not set are an empty input and pipes, as in std.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe. A dropped future loses the output.
    ///
    /// # Examples
    ///
    /// ```
    /// use gmp_net::process::Command;
    /// use std::time::Duration;
    ///
    /// # gmp_rt::block_on(async {
    /// let mut command = Command::new("sleep");
    /// command.arg("1000").kill_on_drop(true);
    /// assert!(gmp_rt::timeout(Duration::from_millis(1), command.output()).await.is_err());
    /// # });
    /// ```
    #[doc(alias = "CombinedOutput")]
    pub async fn output(&mut self) -> io::Result<Output> {
        let StreamsSet { stdin, stdout, stderr } = self.set;
        if !stdin {
            self.std.stdin(Stdio::null());
        }
        if !stdout {
            self.std.stdout(Stdio::piped());
        }
        if !stderr {
            self.std.stderr(Stdio::piped());
        }
        let child = self.spawn();
        self.inherit_unset();
        child?.wait_with_output().await
    }

    /// Undoes the changes of [`output`](Self::output).
    fn inherit_unset(&mut self) {
        let StreamsSet { stdin, stdout, stderr } = self.set;
        if !stdin {
            self.std.stdin(Stdio::inherit());
        }
        if !stdout {
            self.std.stdout(Stdio::inherit());
        }
        if !stderr {
            self.std.stderr(Stdio::inherit());
        }
    }
}

impl From<process::Command> for Command {
    fn from(command: process::Command) -> Self {
        Self::from_std(command)
    }
}
