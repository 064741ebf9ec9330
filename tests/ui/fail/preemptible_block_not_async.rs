fn main() {
    gmp::preemptible_block!({ 1 + 1 });
    gmp::preemptible_block!();
}
