use std::rc::Rc;

fn main() {
    let (tx, rx) = gmp::chan::<Rc<u32>>(0);
    gmp::go!(async move {
        gmp::select! {
            _ = rx.recv() => {}
            _ = tx.send(Rc::new(1)) => {}
        }
    });
}
