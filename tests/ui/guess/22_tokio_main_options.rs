// target: errors that name `max_procs`, when the attributes know the options of other runtimes.
#[gmp::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() {}
