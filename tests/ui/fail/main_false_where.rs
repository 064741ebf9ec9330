#[gmp::main]
async fn main()
where
    String: Copy,
{
}
