// target: errors that name `max_procs` for other runtimes' options. Issue: Nothing is missing.
#[gmp::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() {}
