// target: compiles. Only local goroutines are missing. Issue: Nothing is missing.
#[gmp::main]
async fn main() {
    println!("{}", gmp::block_in_place(|| 1));
    gmp::spawn_local(async {});
    let (a, b) = gmp::join!(async { 1 }, async { 2 });
    println!("{a} {b}");
}
