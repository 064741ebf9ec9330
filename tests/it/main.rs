//! Black-box tests through the facade, one binary.

mod bad_input;
mod context;
mod crash;
mod err_group;
mod facade;
mod foreign;
mod go;
mod idle;
mod inside;
mod memory;
mod procs;
mod promise;
mod quit;
mod sched;
mod shutdown;
mod stress;
mod support;
mod time;
