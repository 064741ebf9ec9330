//! The error names the function of the user.
use std::rc::Rc;

#[gmp::main]
async fn main() {
    let text = Rc::new(1);
    gmp::yield_now().await;
    drop(text);
}
