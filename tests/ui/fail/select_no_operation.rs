async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        rx.recv() => {}
    }
}

async fn also_wrong() {
    gmp::select! {
        v => drop(v),
    }
}

fn main() {}
