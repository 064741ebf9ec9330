#[gmp::main(max_procs = 1, max_procs = 2)]
async fn main() {}
