//! What the function of `#[gmp::main]` may have, and the attributes beside it.
#![deny(warnings, missing_docs, clippy::all, clippy::pedantic)]

/// Documented.
#[gmp::main(max_procs = 2, crate = gmp)]
#[allow(clippy::no_effect)]
#[cfg(not(miri))]
pub async fn main()
where
    String: Clone,
{
    assert_eq!(gmp::max_procs(), 2);
}

/// Attributes of tests.
#[gmp::test(max_procs = 1, crate = "gmp")]
#[should_panic(expected = "text")]
#[ignore]
async fn ignored() {
    panic!("text");
}
