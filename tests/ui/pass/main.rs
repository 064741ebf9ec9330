//! All options at once, and a result that is not `Send`.

#[gmp::main(max_procs = 1 + 1, panic = "contain", name = "ui", crate = "gmp")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    assert_eq!(gmp::max_procs(), 2);
    assert_eq!(gmp::goid(), Some(1));
    let n: u32 = "3".parse()?;
    assert_eq!(gmp::go!(name = "three", async move { n }).await?, 3);
    Ok(())
}
