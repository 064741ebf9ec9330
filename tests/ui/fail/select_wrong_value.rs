async fn wrong(tx: gmp::sync::Sender<u32>) {
    gmp::select! {
        _ = tx.send("text") => {}
    }
}

fn main() {}
