#[gmp::main]
async fn main(argument: u32) {
    let _ = argument;
}
