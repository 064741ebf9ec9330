//! A mistake in one case hides no name in the others.
async fn wrong(rx: gmp::chan::Receiver<u32>) {
    gmp::select! {
        v = rx.recv() => drop(v.missing_method()),
        w = missing_channel.recv() drop(w),
    }
}

fn main() {}
