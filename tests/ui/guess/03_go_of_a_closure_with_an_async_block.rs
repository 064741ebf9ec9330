// target: compiles, and the inner future runs. Met.
#[gmp::main]
async fn main() {
    gmp::go!(move || async move { println!("x") });
}
