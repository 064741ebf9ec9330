//! What shared structures cost with many Ps: real looks, and a simulation.
//!
//! `cargo run --release -p gmp-bench --bin scaling`. Three tables in Markdown, for `SCALING.md` beside
//! the package: what the looks over all Ps cost here with so many Ps ([`measured`]); what workloads
//! would do on machines with so many cores, and which shared line is the limit ([`machine`],
//! [`work`]); and the same with that line sharded. The simulation is deterministic.

mod line;
mod machine;
mod measured;

const PROCS: [usize; 4] = [2, 8, 64, 256];

fn main() {
    println!("{:24}", "");
    for procs in PROCS {
        for look in measured::looks(procs) {
            println!("{procs:4} {look:?}");
        }
        println!("{procs:4} wake-up {:.1} us", measured::wake_up(procs));
    }
}
