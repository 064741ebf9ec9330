//! Runtimes: how to build, observe and end them.
//!
//! The functions act on the current runtime. That is the runtime of the innermost
//! [`Runtime::block_on`], else that of the goroutine that makes the call, else the default runtime.
//!
//! # The fields of `schedtrace`
//!
//! `GMPDEBUG=schedtrace=1000` prints a line about each runtime every second, here in two parts. Its
//! fields are those of Go, in Go's order, then `runtime`. The values are read while the runtime
//! runs, so they need not agree with each other.
//!
//! ```text
//! SCHED 1004ms: gomaxprocs=4 idleprocs=2 threads=5 spinningthreads=1 needspinning=0
//!     idlethreads=2 runqueue=0 [ 3 2 0 1 ] schedticks=[ 7 4 0 2 ] runtime=0(gmp)
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `SCHED` | the time since the first line |
//! | `gomaxprocs` | the number of Ps: [`max_procs`] |
//! | `idleprocs` | Ps that run nothing, also those that adaptive procs rest |
//! | `threads` | threads of the runtime, with sysmon |
//! | `spinningthreads` | threads that look for work |
//! | `needspinning` | always 0 |
//! | `idlethreads` | threads that sleep without a P |
//! | `runqueue` | goroutines in the global queue and in the inbox |
//! | `[ 3 2 0 1 ]` | goroutines in the queue of each P, with its next one |
//! | `schedticks` | how many time slices each P has begun |
//! | `runtime` | the number of the runtime, and the prefix of its threads' names |
//!
//! A column always shows the P of the same number. Its ticks never fall.
//!
//! `scheddetail=1` adds a line for each P, M (a thread) and G (a goroutine). Its first line has
//! these fields in place of the columns:
//!
//! | field | meaning |
//! |---|---|
//! | `gcwaiting` | always false: there is no collector |
//! | `nmidlelocked` | always 0: no goroutine is bound to a thread |
//! | `stopwait` | always 0: nothing stops all Ps |
//! | `sysmonwait` | always false |
//!
//! Fields of a P, an M or a G. A number that does not exist is `nil`:
//!
//! | field | meaning |
//! |---|---|
//! | `status` | of a P: 0 idle, 1 running; of a G: 1 runnable, 2 running, 3 in a blocking call, 4 waiting, 6 dead, with the reason of its last wait |
//! | `schedtick` | how many time slices the P has begun |
//! | `syscalltick` | how many marked blocking calls were made on the P |
//! | `m` | the M that owns the P, or runs the G |
//! | `runqsize` | goroutines in the queue of the P, without its next one |
//! | `gfreecnt` | always 0: only the owner of a P counts its free cells |
//! | `timerslen` | pending timers of the P |
//! | `p` | the P that the M owns |
//! | `curg` | the G that the M runs |
//! | `spinning` | whether the M has a P and looks for work |
//! | `blocked` | whether the M sleeps, or waits for a P after a blocking call |
//! | `mallocing` | always 0 |
//! | `throwing` | always 0 |
//! | `preemptoff` | always empty |
//! | `locks` | always 0 |
//! | `dying` | always 0 |
//! | `lockedg` | always `nil`: no goroutine is bound to a thread |
//! | `lockedm` | always `nil` |

pub use gmp_rt::runtime::{
    BlockingMetrics, BuildError, Builder, EnterGuard, Event, GoroutineMetrics, Handle,
    HandoffMetrics, Histogram, Metrics, NetMetrics, PanicPolicy, ProcMetrics, ProcsError,
    QueueMetrics, Severity, ShutdownError, Stall, StallKind, StallMetrics, ThreadMetrics,
    TimerMetrics, dump, metrics, num_cpu, on_event, on_stall, set_default_max_procs,
};
#[doc(no_inline)]
pub use gmp_rt::{Runtime, block_on, max_procs, num_goroutine, set_max_procs};
