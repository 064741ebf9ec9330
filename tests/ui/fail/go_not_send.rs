fn main() {
    let shared = std::rc::Rc::new(1);
    gmp::go!({
        gmp::yield_now().await;
        drop(shared);
    });
}
