// target: an error whose help names the field of the tuple. Met.
#[gmp::main]
async fn main() {
    let ch = gmp::chan::<i32>(1);
    ch.send(1).await;
}
