async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        default => {}
        _ = rx.recv() => {}
        else => {}
    }
}

fn main() {}
