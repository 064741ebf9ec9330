// target: an error that says where the group moved; the docs of `add` show `wg.go`. Met.
#[gmp::main]
async fn main() {
    let wg = gmp::WaitGroup::new();
    for n in 0..3 {
        wg.add(1);
        gmp::go!({
            println!("{n}");
            wg.done();
        });
    }
    wg.wait().await;
}
