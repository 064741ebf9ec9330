#[gmp::test]
#[test]
async fn below() {}

#[gmp::test]
#[core::prelude::v1::test]
async fn by_path() {}

fn main() {}
