#[gmp::test(deadlock_after = "long")]
async fn fails() {}

fn main() {}
