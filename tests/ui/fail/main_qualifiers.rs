#[gmp::test]
async unsafe fn with_unsafe() {}

#[gmp::test]
async extern "C" fn with_extern() {}

#[gmp::main]
async unsafe fn main() {}
