#[gmp::main(tokio)]
async fn main() {}
