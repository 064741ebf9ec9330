async fn wrong(rx: gmp::chan::Receiver<u32>, tx: gmp::chan::Sender<u32>) {
    gmp::select! {
        Some(v) = rx.recv() => drop(v),
        Ok(5) = tx.send(1) => {}
        else => {}
    }
}

fn main() {}
