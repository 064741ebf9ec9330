//! The Rust contestants with mimalloc as their allocator. `gmp-bench` builds and starts this
//! program.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    gmp_bench::contestant_main()
}
