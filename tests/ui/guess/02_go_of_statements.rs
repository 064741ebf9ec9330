// target: compiles. Met.
#[gmp::main]
async fn main() {
    gmp::go! { println!("a"); gmp::yield_now().await; };
}
