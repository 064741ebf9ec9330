//! The environment: `GMPMAXPROCS` and `GMPDEBUG`.
//!
//! An invalid value is reported on stderr once and ignored. A number of procs above the limit is
//! reported and lowered to the limit. So a typo neither stops a service from starting nor goes
//! unnoticed.

use crate::limits::MAX_PROCS;
use crate::prim::fixed::Lazy;
use crate::sched::dead::OnDeadlock;
use crate::sched::trace::TraceConfig;
use crate::throw::say;
use std::time::Duration;

/// The settings in `GMPDEBUG`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debug {
    /// `panic=abort`: a panic in a goroutine ends the process.
    pub(crate) panic_abort: bool,
    /// `stall=1`: stalls are printed, once per spawn site.
    pub(crate) stall: bool,
    /// `schedtrace=N`, `scheddetail=1`: the scheduler is traced every N milliseconds.
    pub(crate) trace: TraceConfig,
    /// `adaptive=0`: the runtime always uses `max_procs` Ps.
    pub(crate) not_adaptive: bool,
    /// `pause=0`: threads that compute without a P are not paused.
    pub(crate) no_pause: bool,
    /// `deadlock=…`: what happens when all goroutines wait. `None` if it is not given.
    pub(crate) on_deadlock: Option<OnDeadlock>,
}

/// Returns the settings in `GMPDEBUG`, which is read once.
pub(crate) fn debug() -> &'static Debug {
    static DEBUG: Lazy<Debug> = Lazy::new(|| {
        let text = std::env::var("GMPDEBUG").unwrap_or_default();
        parse_debug(&text, |complaint| say!("gmp: GMPDEBUG: {complaint}; ignored"))
    });
    &DEBUG
}

fn parse_debug(text: &str, mut complain: impl FnMut(String)) -> Debug {
    let mut debug = Debug::default();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        match item.split_once('=') {
            Some(("panic", "abort")) => debug.panic_abort = true,
            Some(("panic", "contain")) => debug.panic_abort = false,
            Some(("panic", value)) => {
                complain(format!("panic={value}: the values are abort and contain"));
            }
            Some(("stall", "1")) => debug.stall = true,
            Some(("stall", "0")) => debug.stall = false,
            Some(("stall", value)) => complain(format!("stall={value}: the values are 0 and 1")),
            Some(("adaptive", "1")) => debug.not_adaptive = false,
            Some(("adaptive", "0")) => debug.not_adaptive = true,
            Some(("adaptive", value)) => {
                complain(format!("adaptive={value}: the values are 0 and 1"));
            }
            Some(("pause", "1")) => debug.no_pause = false,
            Some(("pause", "0")) => debug.no_pause = true,
            Some(("pause", value)) => complain(format!("pause={value}: the values are 0 and 1")),
            Some(("schedtrace", value)) => match value.parse() {
                Ok(ms) => debug.trace.every = Duration::from_millis(ms),
                Err(_) => complain(format!("schedtrace={value}: not a number of milliseconds")),
            },
            Some(("deadlock", "fatal")) => debug.on_deadlock = Some(OnDeadlock::Fatal),
            Some(("deadlock", "report")) => debug.on_deadlock = Some(OnDeadlock::Report),
            Some(("deadlock", "off")) => debug.on_deadlock = Some(OnDeadlock::Ignore),
            Some(("deadlock", value)) => {
                complain(format!("deadlock={value}: the values are fatal, report and off"));
            }
            Some(("scheddetail", "1")) => debug.trace.detail = true,
            Some(("scheddetail", "0")) => debug.trace.detail = false,
            Some(("scheddetail", value)) => {
                complain(format!("scheddetail={value}: the values are 0 and 1"));
            }
            Some((key, _)) => complain(format!("unknown key {key:?}")),
            None => complain(format!("{item:?} is not key=value")),
        }
    }
    debug
}

/// Returns the number of Ps in `GMPMAXPROCS`, which is read once.
pub(super) fn procs() -> Option<usize> {
    static PROCS: Lazy<Option<usize>> = Lazy::new(|| {
        let text = std::env::var("GMPMAXPROCS").unwrap_or_default();
        parse_procs(&text, |complaint| say!("gmp: GMPMAXPROCS={text}: {complaint}"))
    });
    *PROCS
}

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
    fn max_procs_takes_numbers_and_names_the_rest() {
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
    fn debug_takes_known_keys_and_names_the_rest() {
        let parse = |text: &str| {
            let mut complaints = Vec::new();
            (parse_debug(text, |complaint| complaints.push(complaint)), complaints)
        };
        assert_eq!(parse(""), (Debug::default(), vec![]));
        assert_eq!(parse("panic=abort"), (Debug { panic_abort: true, ..Debug::default() }, vec![]));
        let (debug, complaints) = parse("schedtrace=100,scheddetail=1,schedtrace=x");
        assert_eq!((debug.trace.every.as_millis(), debug.trace.detail), (100, true));
        assert_eq!(complaints.len(), 1);
        let (debug, complaints) = parse("adaptive=0,adaptive=2");
        assert!(debug.not_adaptive && complaints.len() == 1);
        let (debug, complaints) = parse("pause=0,pause=off");
        assert!(debug.no_pause && complaints.len() == 1);
        let (debug, complaints) = parse("panic=maybe,frobnicate=1,x,panic=abort");
        assert!(debug.panic_abort);
        assert_eq!(complaints.len(), 3);
        assert!(complaints[1].contains("frobnicate"));
    }
}
