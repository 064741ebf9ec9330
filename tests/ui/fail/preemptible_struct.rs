#[gmp::preemptible]
struct Numbers(Vec<u64>);

fn main() {
    let _ = Numbers(Vec::new());
}
