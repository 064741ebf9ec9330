#[gmp::preemptible]
mod elsewhere;

fn main() {}
