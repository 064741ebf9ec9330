// target: an error that names the future `Lock`, so the await is missing. Met.
#[gmp::main]
async fn main() {
    let m = gmp::sync::Mutex::new(1);
    *m.lock() += 1;
}
