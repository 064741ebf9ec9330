async fn wrong(rx: gmp::sync::Receiver<u32>) {
    gmp::select! {
        default => {}
        _ = rx.recv() => {}
        default => {}
    }
}

fn main() {}
