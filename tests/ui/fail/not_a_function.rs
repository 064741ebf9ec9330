#[gmp::main]
struct Main;

fn main() {}
