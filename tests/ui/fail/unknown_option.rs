#[gmp::main(proks = 2)]
async fn main() {}
