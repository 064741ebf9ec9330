#[gmp::preemptible]
async fn count() {
    for n in 5 {
        drop(n);
    }
}

fn main() {
    gmp::block_on(count());
}
