async fn wrong(rx: gmp::chan::Receiver<u32>, done: bool) {
    gmp::select! {
        _ = rx.recv() => {}
        default, if done => {}
    }
}

fn main() {}
