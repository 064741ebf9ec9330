async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        v = rx.recv() =>
    }
}

fn main() {}
