#[gmp::preemptible]
fn sum(numbers: &[u64]) -> u64 {
    numbers.iter().sum()
}

fn main() {
    sum(&[1]);
}
