async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        _ = rx.recv() => {}
        n = 1 + 1 => drop(n),
    }
}

fn main() {}
