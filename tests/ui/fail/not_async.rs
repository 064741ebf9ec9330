#[gmp::main]
fn main() {}
