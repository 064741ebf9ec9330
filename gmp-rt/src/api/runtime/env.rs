//! The environment: `GMPMAXPROCS` and `GMPDEBUG`.
//!
//! An invalid value is reported once and ignored. A number of procs above the limit is
//! reported and lowered to the limit. So a typo neither stops a service from starting nor goes
//! unnoticed.

use crate::limits::MAX_PROCS;
use crate::observe::event::{self, Event};
use crate::prim::fixed::{Lazy, Mutex};
use crate::sched::PanicPolicy;
use crate::sched::config::{OnDeadlock, TraceConfig};
use std::time::Duration;

/// The settings in the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Env {
    /// `GMPMAXPROCS`.
    pub(super) procs: Option<usize>,
    pub(super) debug: Debug,
}

/// The settings in `GMPDEBUG`. `None` means: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Debug {
    /// `panic=…`: what a panic in a goroutine does.
    pub(super) panic_policy: Option<PanicPolicy>,
    /// `stall=1`: stalls are printed, once per spawn site.
    pub(super) stall: Option<bool>,
    /// `schedtrace=N`, `scheddetail=1`: the scheduler is traced every N milliseconds.
    pub(super) trace: TraceConfig,
    /// `trace=FILE`: the execution trace goes there.
    pub(super) trace_file: Option<String>,
    /// `adaptive=0`: the runtime always uses `max_procs` Ps.
    pub(super) adaptive: Option<bool>,
    /// `pause=0`: threads that compute without a P are not paused.
    pub(super) pause: Option<bool>,
    /// `lookups=N`: how many name lookups may run at a time.
    pub(super) lookups: Option<usize>,
    /// `deadlock=…`: what happens when all goroutines wait.
    pub(super) on_deadlock: Option<OnDeadlock>,
}

/// Returns the settings in the environment, which is read once.
pub(super) fn get() -> &'static Env {
    /// The settings, and the complaints that are not reported yet.
    static ENV: Lazy<(Env, Mutex<Vec<Event>>)> = Lazy::new(|| {
        let (env, complaints) = read();
        (env, Mutex::new(complaints))
    });
    let (env, complaints) = &*ENV;
    // Not inside of the initialisation, for which other threads wait.
    let complaints = std::mem::take(&mut *complaints.lock());
    complaints.into_iter().for_each(event::emit);
    env
}

/// Reads the environment. Also returns what is wrong with it.
fn read() -> (Env, Vec<Event>) {
    let read = |name| std::env::var(name).unwrap_or_default();
    let mut complaints = Vec::new();
    let procs = read("GMPMAXPROCS");
    let procs = parse_procs(&procs, |complaint| {
        let (variable, value) = ("GMPMAXPROCS", Some(procs.clone()));
        complaints.push(Event::InvalidSetting { variable, value, complaint });
    });
    let debug = parse_debug(&read("GMPDEBUG"), |complaint| {
        let complaint = format!("{complaint}; ignored");
        let (variable, value) = ("GMPDEBUG", None);
        complaints.push(Event::InvalidSetting { variable, value, complaint });
    });
    (Env { procs, debug }, complaints)
}

fn parse_debug(text: &str, mut complain: impl FnMut(String)) -> Debug {
    let mut debug = Debug::default();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let set = match item.split_once('=') {
            Some((key, value)) => debug.set(key, value),
            None => Err(format!("{item:?} is not key=value")),
        };
        if let Err(complaint) = set {
            complain(complaint);
        }
    }
    debug
}

impl Debug {
    /// Sets `key`. Returns what is wrong with the key or the value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        const SWITCH: &[(&str, bool)] = &[("0", false), ("1", true)];
        const PANIC: &[(&str, PanicPolicy)] =
            &[("abort", PanicPolicy::Abort), ("contain", PanicPolicy::Contain)];
        const DEADLOCK: &[(&str, OnDeadlock)] = &[
            ("fatal", OnDeadlock::Fatal),
            ("report", OnDeadlock::Report),
            ("off", OnDeadlock::Ignore),
        ];
        match key {
            "panic" => self.panic_policy = Some(one_of(PANIC, key, value)?),
            "stall" => self.stall = Some(one_of(SWITCH, key, value)?),
            "adaptive" => self.adaptive = Some(one_of(SWITCH, key, value)?),
            "pause" => self.pause = Some(one_of(SWITCH, key, value)?),
            "deadlock" => self.on_deadlock = Some(one_of(DEADLOCK, key, value)?),
            "scheddetail" => self.trace.detail = one_of(SWITCH, key, value)?,
            "trace" if value.is_empty() => return Err(format!("{key}= without a file")),
            "trace" => self.trace_file = Some(value.into()),
            "lookups" => match value.parse() {
                Ok(n @ 1..) => self.lookups = Some(n),
                _ => return Err(format!("{key}={value}: not a number from 1 up")),
            },
            "schedtrace" => match value.parse() {
                Ok(ms) => self.trace.every = Duration::from_millis(ms),
                Err(_) => return Err(format!("{key}={value}: not a number of milliseconds")),
            },
            _ => return Err(format!("unknown key {key:?}")),
        }
        Ok(())
    }
}

/// Returns the meaning of `value`, or the values that there are.
fn one_of<T: Copy>(values: &[(&str, T)], key: &str, value: &str) -> Result<T, String> {
    match values.iter().find(|(name, _)| *name == value) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            Err(format!("{key}={value}: the values are {}", names.join(", ")))
        }
    }
}

/// Returns the number of Ps in `text`. `None` if it is empty or invalid.
fn parse_procs(text: &str, mut complain: impl FnMut(String)) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    match text.trim().parse::<u128>() {
        Ok(0) | Err(_) => {
            complain(format!("not a number from 1 to {MAX_PROCS}; ignored"));
            None
        }
        Ok(n) if n > MAX_PROCS as u128 => {
            complain(format!("more than the limit; using {MAX_PROCS}"));
            Some(MAX_PROCS)
        }
        Ok(n) => Some(n as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procs(text: &str) -> (Option<usize>, usize) {
        let mut complaints = 0;
        let procs = parse_procs(text, |_| complaints += 1);
        (procs, complaints)
    }

    #[test]
    fn invalid_max_procs_in_the_environment_are_reported() {
        assert_eq!(procs(""), (None, 0));
        assert_eq!(procs("3"), (Some(3), 0));
        assert_eq!(procs(" 1024 "), (Some(1024), 0));
        for bad in ["abc", "0", "-1", "1.5", "99999999999999999999999999999999999999999"] {
            assert_eq!(procs(bad), (None, 1), "{bad}");
        }
        assert_eq!(procs("1025"), (Some(1024), 1));
        assert_eq!(procs("99999999999999999999"), (Some(1024), 1));
    }

    #[test]
    fn unknown_keys_and_values_of_gmpdebug_are_reported() {
        let parse = |text: &str| {
            let mut complaints = Vec::new();
            (parse_debug(text, |complaint| complaints.push(complaint)), complaints)
        };
        assert_eq!(parse(""), (Debug::default(), vec![]));
        let abort = Debug { panic_policy: Some(PanicPolicy::Abort), ..Debug::default() };
        assert_eq!(parse("panic=abort"), (abort.clone(), vec![]));
        assert_eq!(parse("panic=contain").0.panic_policy, Some(PanicPolicy::Contain));
        let (debug, complaints) = parse("schedtrace=100,scheddetail=1,schedtrace=x");
        assert_eq!((debug.trace.every.as_millis(), debug.trace.detail), (100, true));
        assert_eq!(complaints.len(), 1);
        let (debug, complaints) = parse("trace=a/b.trace,trace=");
        assert_eq!(debug.trace_file, Some("a/b.trace".into()));
        assert_eq!(complaints, ["trace= without a file"]);
        let (debug, complaints) = parse("adaptive=0,adaptive=2");
        assert_eq!((debug.adaptive, complaints.len()), (Some(false), 1));
        let (debug, complaints) = parse("pause=0,pause=off");
        assert_eq!((debug.pause, complaints.len()), (Some(false), 1));
        assert_eq!(complaints[0], "pause=off: the values are 0, 1");
        let (debug, complaints) = parse("lookups=7,lookups=0,lookups=x");
        assert_eq!((debug.lookups, complaints.len()), (Some(7), 2));
        assert_eq!(complaints[0], "lookups=0: not a number from 1 up");
        let (debug, complaints) = parse("panic=maybe,frobnicate=1,x,panic=abort");
        assert_eq!(debug, abort);
        assert_eq!(complaints.len(), 3);
        assert!(complaints[1].contains("frobnicate"));
    }
}
