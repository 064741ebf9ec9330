#[gmp::main(procs = 0)]
async fn main() {}
