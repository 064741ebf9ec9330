async fn wrong(rx: gmp::sync::Receiver<u32>) {
    gmp::select! {
        Ok(v) = rx.recv() => drop(v),
    }
}

fn main() {}
