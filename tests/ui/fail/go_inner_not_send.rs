fn main() {
    gmp::go!(move || async move {
        let shared = std::rc::Rc::new(1);
        gmp::yield_now().await;
        drop(shared);
    });
}
