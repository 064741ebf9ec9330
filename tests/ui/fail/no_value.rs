#[gmp::main(procs)]
async fn main() {}
