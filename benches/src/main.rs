//! gmp beside Tokio, smol and Go: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gmp_bench::main()
}
