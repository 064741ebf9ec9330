#[gmp::main(procs = 1, procs = 2)]
async fn main() {}
