//! Where each setting comes from.

use super::super::env::Debug;
use super::*;
use crate::sched::config::TraceConfig;

/// Resolves `builder` with `procs` and `debug` as the environment.
fn resolve(builder: Builder, procs: Option<usize>, debug: Debug) -> Config {
    builder.resolve(&Env { procs, debug }).expect("valid settings")
}

#[test]
fn procs_come_from_the_builder_then_the_environment_then_the_machine() {
    let procs = |builder: Builder, env| {
        let config = resolve(builder, env, Debug::default());
        (config.procs, config.auto_procs)
    };
    let machine = procs::default_procs(&Config::default().machine);
    assert_eq!(procs(Builder::new(), None), (machine, true));
    assert_eq!(procs(Builder::new(), Some(3)), (3, false));
    assert_eq!(procs(Builder::new().max_procs(5), Some(3)), (5, false));
}

#[test]
fn adaptive_comes_from_the_builder_then_the_environment() {
    let adaptive =
        |builder, adaptive| resolve(builder, None, Debug { adaptive, ..Debug::default() }).adaptive;
    assert!(adaptive(Builder::new(), None));
    assert!(!adaptive(Builder::new(), Some(false)));
    assert!(adaptive(Builder::new().adaptive_procs(true), Some(false)));
    assert!(!adaptive(Builder::new().adaptive_procs(false), Some(true)));
}

#[test]
fn pause_comes_from_the_builder_then_the_environment() {
    let pause = |builder, pause| resolve(builder, None, Debug { pause, ..Debug::default() }).pause;
    assert!(pause(Builder::new(), None));
    assert!(!pause(Builder::new(), Some(false)));
    assert!(pause(Builder::new().pause_cpu_bound(true), Some(false)));
    assert!(!pause(Builder::new().pause_cpu_bound(false), Some(true)));
}

#[test]
fn lookups_come_from_the_builder_then_the_environment() {
    let lookups = |builder, lookups| {
        resolve(builder, None, Debug { lookups, ..Debug::default() }).max_lookups
    };
    assert_eq!(lookups(Builder::new(), None), MAX_LOOKUPS);
    assert_eq!(lookups(Builder::new().max_blocking_threads(1), None), MAX_LOOKUPS);
    assert_eq!(lookups(Builder::new(), Some(3)), 3);
    assert_eq!(lookups(Builder::new().max_lookups(500), Some(3)), 500);
    let error = Builder::new().max_lookups(0).resolve(&Env::default()).unwrap_err();
    assert_eq!(error.to_string(), "max_lookups must be at least 1");
}

#[test]
fn the_panic_policy_comes_from_the_builder_then_the_environment() {
    use PanicPolicy::{Abort, Contain};
    let policy = |builder, panic_policy| {
        resolve(builder, None, Debug { panic_policy, ..Debug::default() }).panic_policy
    };
    assert_eq!(policy(Builder::new(), None), Contain);
    assert_eq!(policy(Builder::new(), Some(Abort)), Abort);
    assert_eq!(policy(Builder::new().panic_policy(Contain), Some(Abort)), Contain);
    assert_eq!(policy(Builder::new().panic_policy(Abort), Some(Contain)), Abort);
}

#[test]
fn the_deadlock_report_comes_from_the_environment_then_the_kind_of_runtime() {
    use OnDeadlock::{Fatal, Ignore, Report};
    let on_deadlock = |builder, on_deadlock| {
        resolve(builder, None, Debug { on_deadlock, ..Debug::default() }).on_deadlock
    };
    assert_eq!(on_deadlock(Builder::new(), None), Ignore);
    assert_eq!(on_deadlock(Builder::new(), Some(Fatal)), Fatal);
    assert_eq!(on_deadlock(Builder::new().report_deadlock(), None), Report);
    assert_eq!(on_deadlock(Builder::new().report_deadlock(), Some(Ignore)), Ignore);
}

#[test]
fn an_error_shows_its_cause_once() {
    use std::error::Error;
    let refused = io::Error::from_raw_os_error(11);
    let text = refused.to_string();
    let error = BuildError(Kind::Start(refused));
    assert_eq!(error.to_string().matches(&text).count(), 1);
    assert!(error.source().is_none());
    let error = BuildError(Kind::Procs(procs::ProcsError::Zero));
    assert_eq!(error.to_string(), procs::ProcsError::Zero.to_string());
    assert!(error.source().is_none());
}

#[test]
fn the_trace_comes_from_the_environment() {
    let trace = |trace| resolve(Builder::new(), None, Debug { trace, ..Debug::default() }).trace;
    assert!(trace(TraceConfig::default()).every.is_zero());
    let set = TraceConfig { every: Duration::from_millis(7), detail: true };
    assert_eq!(trace(set), set);
}

#[test]
fn the_file_of_the_execution_trace_comes_from_the_environment() {
    let file = |trace_file: Option<&str>| {
        let debug = Debug { trace_file: trace_file.map(str::to_owned), ..Debug::default() };
        resolve(Builder::new(), None, debug).trace_file
    };
    assert_eq!(file(None), None);
    assert_eq!(file(Some("a.trace")).as_deref(), Some("a.trace"));
}

#[test]
fn the_hooks_of_threads_come_from_the_builder() {
    let config = resolve(Builder::new(), None, Debug::default());
    assert!(config.hooks.start.is_none() && config.hooks.stop.is_none());
    let (sender, calls) = std::sync::mpsc::channel();
    let other = sender.clone();
    let builder = Builder::new()
        .on_thread_start(move || sender.send("start").unwrap())
        .on_thread_stop(move || other.send("stop").unwrap());
    let hooks = resolve(builder, None, Debug::default()).hooks;
    (hooks.start.unwrap())();
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), ["start"]);
    (hooks.stop.unwrap())();
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), ["stop"]);
}

#[test]
fn blocking_threads_come_from_the_builder() {
    let blocking = |builder| resolve(builder, None, Debug::default()).max_blocking;
    assert_eq!(blocking(Builder::new()), 512);
    assert_eq!(blocking(Builder::new().max_blocking_threads(7)), 7);
    let error = Builder::new().max_blocking_threads(0).resolve(&Env::default()).unwrap_err();
    assert_eq!(error.to_string(), "max_blocking_threads must be at least 1");
}

#[test]
fn keep_alive_stack_size_and_name_come_from_the_builder() {
    let settings = |builder| {
        let config = resolve(builder, None, Debug::default());
        (config.keep_alive, config.stack_size, config.name)
    };
    assert_eq!(settings(Builder::new()), (Duration::from_secs(10), None, "gmp".to_owned()));
    let second = Duration::from_secs(1);
    let builder = Builder::new().thread_keep_alive(second).thread_stack_size(1 << 20).name("x");
    assert_eq!(settings(builder), (second, Some(1 << 20), "x".to_owned()));
    let error = Builder::new().name("a\0b").resolve(&Env::default()).unwrap_err();
    assert_eq!(error.to_string(), "a thread name cannot contain a zero byte");
}

#[test]
fn stalls_are_reported_if_the_environment_asks_for_it() {
    let stalls =
        |stall| resolve(Builder::new(), None, Debug { stall, ..Debug::default() }).print_stalls;
    assert_eq!([None, Some(false), Some(true)].map(stalls), [false, false, true]);
}
