// target: compiles. Met.
#[gmp::main]
async fn main() {
    let (_tx, _rx) = gmp::sync::oneshot::channel::<i32>();
    let (_tx, _rx) = gmp::sync::watch::channel(1);
    let (_tx, _rx) = gmp::sync::broadcast::channel::<i32>(1);
    let _ = gmp::sync::Notify::new();
}
