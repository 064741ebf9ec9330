// target: compiles. Met.
#[gmp::main]
async fn main() {
    let _ = gmp::fs::read_to_string("x").await;
    let _ = gmp::process::Command::new("true").status().await;
}
