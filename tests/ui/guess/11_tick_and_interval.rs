// target: `tick` compiles; for `interval` the help names `tick`. Met.
use std::time::Duration;

#[gmp::main]
async fn main() {
    let mut ticks = gmp::time::tick(Duration::from_millis(1));
    ticks.tick().await;
    let mut interval = gmp::time::interval(Duration::from_millis(1));
    interval.tick().await;
}
