fn main() {
    gmp::go!({
        let n: u32 = "text";
        missing(n).await
    });
}
