//! The smallest program: one goroutine, joined.

use gmp::go;

#[gmp::main]
async fn main() {
    let greeting = go!(async { "hello from a goroutine" });
    println!("{}", greeting.await.unwrap());
}
