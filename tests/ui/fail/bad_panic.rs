#[gmp::main(panic = "maybe")]
async fn main() {}
