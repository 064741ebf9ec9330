//! Black-box tests through the facade, one binary.
//!
//! No result here depends on the speed or the load of the machine. Tests that measure CPU time,
//! lateness or memory are in the binary `timing`, which runs its tests one at a time.

mod bad_input;
mod big_future;
mod blocking_limit;
mod budget;
mod cancel;
mod chan;
mod chan_ends;
mod chan_explorer;
mod chan_meet;
mod chan_permit;
mod chan_property;
mod context;
mod conversions;
mod crash;
mod ended_runtime;
mod err_group;
mod events;
mod explore;
mod facade;
mod faults;
mod foreign;
mod fork;
mod fs;
mod fused;
mod go;
mod golang_chan;
mod golang_powser;
mod golang_progs;
mod golang_select;
mod guards;
mod inside;
mod into_future;
mod io_duplex;
mod io_pipe;
mod io_stdio;
mod join;
mod lock_rule;
mod mini_redis;
mod net_conversions;
mod net_copy;
mod net_deadline;
#[cfg(all(feature = "hyper", feature = "tokio-io"))]
mod net_ecosystem;
mod net_errors;
mod net_faults;
#[cfg(all(target_os = "linux", not(gmp_portable_poll)))]
mod net_injected;
#[cfg(target_os = "linux")]
mod net_namespace;
mod net_other;
mod net_promise;
#[cfg(target_os = "linux")]
mod net_resolve;
mod net_strace;
mod net_stress;
mod net_tcp;
#[cfg(target_os = "linux")]
mod no_proc;
mod other_executors;
mod parked_test;
mod pause;
mod pool;
mod preemptible;
mod process;
mod procs;
mod promise;
mod quit;
mod receiver_set;
mod rules;
mod runtime_enter;
mod sched;
mod select;
mod select_biased;
mod select_pattern;
mod select_send;
mod shutdown;
mod signal;
mod single_flight;
mod stress;
#[path = "../support/mod.rs"]
mod support;
mod sync_barrier;
mod sync_broadcast;
mod sync_cancel;
mod sync_cond;
mod sync_inside;
mod sync_mutex;
mod sync_notify;
mod sync_once;
mod sync_oneshot;
mod sync_rate_limiter;
mod sync_rw_lock;
mod sync_semaphore;
mod sync_watch;
mod task_handle;
mod task_join_set;
mod task_local;
mod task_tracker;
mod time;
mod time_delay_queue;
mod traits;
mod user_code;
mod user_wakers;
mod way_back;
