#[gmp::main(max_procs = )]
async fn main() {}
