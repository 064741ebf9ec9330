async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        default => {}
        _ = rx.recv() => {}
        default => {}
    }
}

async fn also_wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        else => {}
        _ = rx.recv() => {}
        else => {}
    }
}

fn main() {}
