async fn wrong(tx: gmp::chan::Sender<u32>) {
    gmp::select! {
        _ = tx.send("text") => {}
    }
}

fn main() {}
