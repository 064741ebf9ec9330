//! The program `gmp-bench`. See the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gmp_bench::main()
}
