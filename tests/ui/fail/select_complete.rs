async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        _ = rx.recv() => {}
        complete => {}
    }
}

fn main() {}
