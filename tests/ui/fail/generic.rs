#[gmp::main]
async fn main<T>() {}
