use std::rc::Rc;

#[gmp::preemptible]
async fn count() -> u32 {
    let total = Rc::new(5);
    let mut n = 0;
    while n < *total {
        n += 1;
    }
    n
}

fn main() {
    gmp::go!(count());
}
