//! Black-box tests through the facade, one binary.

mod bad_input;
mod context;
mod crash;
mod err_group;
mod facade;
mod foreign;
mod go;
mod golang_chan;
mod idle;
mod inside;
mod memory;
mod net_deadline;
mod net_other;
mod net_tcp;
mod overload;
mod procs;
mod promise;
mod quit;
mod sched;
mod shutdown;
mod stress;
mod support;
mod time;
