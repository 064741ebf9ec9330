//! An error in the body is reported once.
#[gmp::main]
async fn main() {
    let n: u32 = "text";
    let _ = n;
}
