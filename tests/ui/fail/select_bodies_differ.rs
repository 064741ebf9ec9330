async fn wrong(rx: gmp::chan::Receiver<u32>) -> u32 {
    gmp::select! {
        v = rx.recv() => v.unwrap(),
        default => "nothing",
    }
}

fn main() {}
