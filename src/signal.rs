//! Signals of the OS. Each listener receives every signal of its kind.

pub use gmp_net::signal::{Signal, SignalKind, ctrl_c, shutdown, signal};
