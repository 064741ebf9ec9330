//! The macros inside a macro of the user.
#![deny(warnings, clippy::all, clippy::pedantic)]

macro_rules! first {
    ($pattern:pat, $operation:expr, $sender:expr, $value:expr, $guard:expr, $body:expr, $other:block) => {
        gmp::select! {
            biased;
            $pattern = $operation => $body,
            sent = $sender.send($value), if $guard => { let _ = sent; 0 }
            else => $other
        }
    };
}

macro_rules! both {
    ($($future:expr),*) => { gmp::join!($($future),*) };
}

macro_rules! entry {
    ($name:ident, $body:block) => {
        #[gmp::main]
        async fn $name() $body
    };
}

entry!(main, {
    let (tx, rx) = gmp::chan::<u32>(1);
    assert_eq!(first!(Ok(n), rx.recv(), tx, 7, rx.is_empty(), n, { 1 }), 0);
    assert_eq!(first!(Ok(n), rx.recv(), tx, 8, false, n, { 1 }), 7);
    drop(tx.clone());
    assert_eq!(both!(async { 1 }, async { 2 }), (1, 2));
});
