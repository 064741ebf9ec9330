#[gmp::main(tokio = true)]
async fn main() {}
