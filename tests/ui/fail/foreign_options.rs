#[gmp::test(worker_threads = 1, threads = 2, thread_name = "web", unhandled_panic = "abort")]
async fn options() {}

#[gmp::test(flavor = "current_thread", start_paused = true)]
async fn more_options() {}

#[gmp::test(max_procs = 0, nonsense, crate = 5)]
async fn several_errors() {}

fn main() {}
