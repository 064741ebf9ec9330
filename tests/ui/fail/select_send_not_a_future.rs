use std::sync::mpsc::Sender;

fn made() -> Sender<u32> {
    std::sync::mpsc::channel().0
}

async fn wrong(tx: Sender<u32>) {
    gmp::select! {
        _ = tx.send(1) => {}
        _ = made().send(2) => {}
    }
}

fn main() {}
