async fn wrong(rx: gmp::sync::Receiver<u32>) {
    gmp::select! {
        v = rx.recv() drop(v),
    }
}

fn main() {}
