// target: one error for each option. One of them names `max_procs`. Met.
#[gmp::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() {}
