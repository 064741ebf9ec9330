// target: an error with the help to use `move`. Met.
#[gmp::main]
async fn main() {
    for i in [1, 2, 3] {
        gmp::go!(async { println!("{i}") });
    }
}
