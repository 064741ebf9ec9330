async fn wrong(rx: gmp::chan::Receiver<u32>, done: bool) {
    gmp::select! {
        _ = rx.recv() => {}
        default, if done => {}
    }
}

async fn also_wrong(rx: gmp::chan::Receiver<u32>, done: bool) {
    gmp::select! {
        _ = rx.recv() => {}
        else, if done => {}
    }
}

fn main() {}
