async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        _ = rx.recv() => {}
        biased;
        default => {}
    }
}

async fn also_wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        biased,
        _ = rx.recv() => {}
    }
}

fn main() {}
