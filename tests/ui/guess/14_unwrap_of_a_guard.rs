// target: an error that names the guard; the docs of `lock` say that there is no poisoning. Met.
#[gmp::main]
async fn main() {
    let m = gmp::sync::Mutex::new(1);
    let sem = gmp::sync::Semaphore::new(1);
    let g = m.lock().await.unwrap();
    let p = sem.acquire().await.unwrap();
}
