async fn wrong(tx: gmp::chan::Sender<u32>) {
    gmp::select! {
        _ = tx.clone().send(1) => {}
    }
}

fn main() {}
