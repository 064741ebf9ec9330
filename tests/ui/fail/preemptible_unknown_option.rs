#[gmp::preemptible(every = 1000)]
async fn compute() {}

fn main() {
    gmp::block_on(compute());
}
