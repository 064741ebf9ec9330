gmp::task_local! {
    static NUMBER: u32 = 5;
}

fn main() {}
