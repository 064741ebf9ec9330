//! The code that differs between operating systems. This file selects the file for each system.

#[cfg(unix)]
#[expect(unsafe_code, reason = "mmap and munmap, I1 of the module")]
#[path = "pages_unix.rs"]
pub(crate) mod pages;

#[cfg(not(unix))]
#[expect(unsafe_code, reason = "the global allocator, I1 of the module")]
#[path = "pages_std.rs"]
pub(crate) mod pages;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "madvise, I1 of the module")]
#[path = "page_release_linux.rs"]
pub(crate) mod page_release;

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[expect(unsafe_code, reason = "mmap, I1 of the module")]
#[path = "page_release_unix.rs"]
pub(crate) mod page_release;

#[cfg(not(unix))]
#[expect(unsafe_code, reason = "has the signature of the other versions")]
#[path = "page_release_none.rs"]
pub(crate) mod page_release;

#[cfg(unix)]
#[expect(unsafe_code, reason = "sigaction and its handler, I1 and I2 of the module")]
pub(crate) mod sigquit;

#[cfg(unix)]
#[expect(unsafe_code, reason = "atexit, I1 of the module")]
pub(crate) mod exit;

#[cfg(not(unix))]
#[path = "exit_none.rs"]
pub(crate) mod exit;

#[cfg(unix)]
#[expect(unsafe_code, reason = "pthread_atfork, I1 and I2 of the module")]
pub(crate) mod fork;

#[cfg(not(unix))]
#[path = "fork_none.rs"]
pub(crate) mod fork;

#[cfg(not(unix))]
#[path = "sigquit_none.rs"]
pub(crate) mod sigquit;

pub(crate) mod own_threads;

#[cfg(unix)]
#[expect(unsafe_code, reason = "select, I1 of the module")]
pub(crate) mod poll_one;

#[cfg(unix)]
pub(crate) mod stderr;

#[cfg(not(unix))]
#[path = "stderr_std.rs"]
pub(crate) mod stderr;

#[cfg(unix)]
pub(crate) mod trace_file;

#[cfg(not(unix))]
#[path = "trace_file_std.rs"]
pub(crate) mod trace_file;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
pub(crate) mod timerfd;

#[cfg(gmp_loom)]
#[path = "timerfd_loom.rs"]
pub(crate) mod timerfd;

#[cfg(not(any(target_os = "linux", gmp_loom)))]
#[path = "timerfd_none.rs"]
pub(crate) mod timerfd;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
pub(crate) mod futex;

#[cfg(gmp_loom)]
#[path = "futex_loom.rs"]
#[cfg_attr(not(test), allow(dead_code, reason = "the models use it"))]
pub(crate) mod futex;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
#[expect(unsafe_code, reason = "sigaction and its handler, I1 to I3 of the module")]
pub(crate) mod thread_signal;

#[cfg(all(target_os = "linux", not(gmp_loom)))]
#[expect(unsafe_code, reason = "sigaction and its handler, I1 to I3 of the module")]
pub(crate) mod overflow;

#[cfg(any(not(target_os = "linux"), gmp_loom))]
#[path = "overflow_none.rs"]
pub(crate) mod overflow;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "clock_gettime, I1 of the module")]
pub(crate) mod thread_state;

#[cfg(not(target_os = "linux"))]
#[path = "thread_state_none.rs"]
pub(crate) mod thread_state;

#[cfg(target_os = "linux")]
pub(crate) mod cpu_limit;

#[cfg(not(target_os = "linux"))]
#[path = "cpu_limit_std.rs"]
pub(crate) mod cpu_limit;
