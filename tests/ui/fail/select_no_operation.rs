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

async fn a_case_of_go(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        case v = rx.recv() => drop(v),
    }
}

async fn no_pattern(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        = rx.recv() => {}
    }
}

fn main() {}
