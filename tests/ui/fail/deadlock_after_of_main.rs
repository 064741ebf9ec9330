#[gmp::main(deadlock_after = 3)]
async fn main() {}
