//! Tests of the expansion of loops, of contexts and of wrong uses.

use super::{expand, expand_block};
use proc_macro2::TokenStream;
use quote::quote;

/// Expands an async function with this body. Returns the new body.
fn body(body: TokenStream) -> String {
    function(quote! {}, body)
}

/// Expands an async function with these arguments and this body. Returns the new body.
fn function(arguments: TokenStream, body: TokenStream) -> String {
    let expanded = expand(quote! {}, quote! { async fn f(#arguments) { #body } }).to_string();
    let prefix = quote! { async fn f(#arguments) }.to_string();
    let block = expanded.strip_prefix(&prefix).expect("the signature").trim();
    let inside = block.strip_prefix('{').and_then(|block| block.strip_suffix('}'));
    inside.expect("a block").trim().to_owned()
}

/// Returns how many checks an item gets.
fn checks(item: TokenStream) -> usize {
    expand(quote! {}, item).to_string().matches("pause () . await").count()
}

#[test]
fn a_while_runs_in_strips() {
    let expected = quote! {
        'outer_1: loop {
            'pause_1: {
                let mut watch = ::gmp::__preempt::watch();
                'a: loop {
                    if watch.is_over() { break 'pause_1; }
                    if let Some(n) = next() { work(n); } else { break; }
                }
                break 'outer_1;
            }
            ::gmp::__preempt::pause().await;
        }
    };
    let found = body(quote! { 'a: while let Some(n) = next() { work(n); } });
    assert_eq!(found, expected.to_string());
}

#[test]
fn a_loop_keeps_its_value() {
    let expected = quote! {
        'outer_1: loop {
            'pause_1: {
                let mut watch = ::gmp::__preempt::watch();
                break 'outer_1 ('a: loop {
                    if watch.is_over() { break 'pause_1; }
                    break 'a work()
                });
            }
            ::gmp::__preempt::pause().await;
        }
    };
    assert_eq!(body(quote! { 'a: loop { break 'a work() } }), expected.to_string());
}

#[test]
fn a_loop_without_break_has_no_value() {
    let expected = quote! {
        'outer_1: loop {
            'pause_1: {
                let mut watch = ::gmp::__preempt::watch();
                loop {
                    if watch.is_over() { break 'pause_1; }
                    work();
                }
            }
            ::gmp::__preempt::pause().await;
        }
    };
    assert_eq!(body(quote! { loop { work(); } }), expected.to_string());
}

/// Returns the expansion of `'a: for n in items { … }`.
fn for_loop(tag: TokenStream, body: TokenStream, pause: TokenStream) -> TokenStream {
    quote! {
        {
            match ::core::iter::IntoIterator::into_iter(items) {
                mut kept => 'outer_1: loop {
                    kept = {
                        let mut iter = kept;
                        let strip = #tag;
                        loop {
                            let mut end = ::gmp::__preempt::End::Left;
                            'a: for n in strip.strip(&mut iter, &mut end) { #body }
                            if end.is_final() { break 'outer_1; }
                            if ::gmp::__preempt::is_due() { break; }
                        }
                        iter
                    };
                    #pause
                }
            };
        }
    }
}

#[test]
fn a_for_loop_with_a_call_checks_before_each_item() {
    let expected = for_loop(
        quote! { ::gmp::__preempt::FlaggedTag },
        quote! { work(n); },
        quote! { ::gmp::__preempt::pause().await; },
    );
    assert_eq!(body(quote! { 'a: for n in items { work(n); } }), expected.to_string());
}

#[test]
fn a_cheap_for_loop_is_probed_and_saves_its_scalars() {
    let tag = quote! {{
        use ::gmp::__preempt::{IsFlagged as _, IsSplit as _};
        (&::gmp::__preempt::Probe(&iter)).tag()
    }};
    let pause = quote! {
        let saved = (sum,);
        ::gmp::__preempt::pause().await;
        #[allow(clippy::allow_attributes, unused_assignments)]
        { (sum,) = saved; }
    };
    let loops = for_loop(tag, quote! { sum = sum.wrapping_add(n); }, pause);
    let expected = quote! { let mut sum = 0; #loops sum };
    let found =
        body(quote! { let mut sum = 0; 'a: for n in items { sum = sum.wrapping_add(n); } sum });
    assert_eq!(found, expected.to_string());
}

#[test]
fn a_loop_with_an_await_checks_in_place() {
    let check = quote! { if ::gmp::__preempt::is_due() { ::gmp::__preempt::pause().await; } };
    let cases = [
        (quote! { loop { f().await; } }, quote! { loop { #check f().await; } }),
        (
            quote! { 'a: while c() { f().await; } },
            quote! { 'a: loop { #check if c() { f().await; } else { break; } } },
        ),
        (
            quote! { for n in items { f(n).await; } },
            quote! {{
                match ::core::iter::IntoIterator::into_iter(items) {
                    mut iter => loop {
                        #check
                        let n = match ::core::iter::Iterator::next(&mut iter) {
                            ::core::option::Option::Some(item) => item,
                            ::core::option::Option::None => break,
                        };
                        f(n).await;
                    }
                };
            }},
        ),
        // The expansion of an unknown macro may await.
        (
            quote! { loop { select! { _ = f() => break, } } },
            quote! {
                loop { #check select! { _ = f() => break, } }
            },
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(body(source), expected.to_string());
    }
}

#[test]
fn an_outer_loop_checks_in_place_and_an_inner_loop_runs_in_strips() {
    let found = body(quote! { loop { while c() { f(); } } });
    assert_eq!(found.matches("is_due ()").count(), 1, "{found}");
    assert_eq!(found.matches("watch ()").count(), 1, "{found}");
}

#[test]
fn checks_are_in_async_code_only() {
    let cases = [
        (0, quote! { async fn f() { g(|| { loop { h(); } }); } }),
        (0, quote! { async fn f() { fn g() { loop { h(); } } } }),
        (0, quote! { async fn f() { const { loop { break; } } } }),
        (0, quote! { async fn f() { const N: usize = loop { break 1; }; } }),
        (0, quote! { async fn f() { [0; loop { break 1; }]; } }),
        (0, quote! { async fn f() { g::< { loop { break 1; } }, >(); } }),
        (0, quote! { async fn f() { let a: [u8; loop { break 1; }] = g(); } }),
        (0, quote! { async fn f() { println!( "{}", loop { break 1; } ); } }),
        (1, quote! { async fn f() { g(async || { loop { h(); } }); } }),
        (1, quote! { async fn f() { g(|| async { loop { h(); } }); } }),
        (1, quote! { async fn f() { g(async move { loop { h(); } }); } }),
        (1, quote! { async fn f() { async fn g() { loop { h(); } } } }),
        (1, quote! { async fn f() { if c() { match d() { _ => unsafe { loop { h(); } }, } } } }),
        (3, quote! { async fn f() { loop { h(); } while c() { h(); } for n in g() { h(); } } }),
        (1, quote! { impl T { async fn f(&self) { loop { h(); } } fn g() { loop { h(); } } } }),
        (1, quote! { impl T { fn f(&self) -> F { Box::pin(async { loop { h(); } }) } } }),
        (
            2,
            quote! {
                mod m { async fn f() { loop {} } mod n { impl T { async fn f() { loop {} } } } }
            },
        ),
        (1, quote! { trait T { async fn f(&self) { loop { h(); } } async fn g(&self); } }),
        (1, quote! { pub(crate) async fn f() { loop { h(); } } }),
    ];
    for (count, item) in cases {
        let text = item.to_string();
        assert_eq!(checks(item), count, "{text}");
    }
}

#[test]
fn short_loops_of_simple_operations_have_no_check() {
    let cases = [
        (0, quote! { for n in 0..8 { sum += n; } }),
        (0, quote! { for n in 1..=8 { for m in 0..8 { sum += n * m; } } }),
        (1, quote! { for n in 0..65 { sum += n; } }),
        (1, quote! { for n in 0..9 { for m in 0..9 { sum += n * m; } } }),
        (1, quote! { for n in 0..8 { sum += f(n); } }),
        (1, quote! { for n in 0..8 { print!("{n}"); } }),
        (1, quote! { for n in 0..8 { f(n).await; } }),
        (1, quote! { for n in first..8 { sum += n; } }),
        (1, quote! { while n < 8 { n += 1; } }),
        // The loop around a short one has a check.
        (1, quote! { for row in rows { for n in 0..8 { sum += row[n]; } } }),
    ];
    for (count, statements) in cases {
        let text = statements.to_string();
        assert_eq!(checks(quote! { async fn f() { #statements } }), count, "{text}");
    }
}

#[test]
fn only_ranges_of_cheap_bodies_are_probed() {
    let cases = [
        (true, quote! { sum += n * 2; }),
        (true, quote! { sum = sum.wrapping_add(a[n as usize]); }),
        (true, quote! { if n > 5 { best = Some(n); } else { continue; } }),
        (true, quote! { best = best.max(n); match n { 0 => break, _ => {} } }),
        (true, quote! { for m in 0..4 { sum += a[m]; } }),
        (false, quote! { sum += f(n); }),
        (false, quote! { v.push(n); }),
        (false, quote! { n.work(); }),
        (false, quote! { assert!(n > 0); }),
        (false, quote! { let a = [n; 1_000_000]; }),
        (false, quote! { (n.callback)(); }),
    ];
    for (is_probed, statements) in cases {
        let found = body(quote! { for n in 0..m { #statements } });
        assert_eq!(found.contains("Probe"), is_probed, "{statements}");
    }
}

/// Returns the names that the first pause of an expansion saves.
fn saved(expansion: &str) -> Vec<&str> {
    let Some((_, rest)) = expansion.split_once("let saved = (") else { return Vec::new() };
    let (names, _) = rest.split_once(')').expect("a tuple");
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_pause_saves_the_scalars_in_scope() {
    let cases = [
        (vec!["n"], quote! { let mut n = 0; while n < 5 { n += f(); } }),
        (vec!["a", "b"], quote! { let mut a = 0u8; let mut b = -1.5; loop { a ^= 1; b = f(); } }),
        (
            vec!["a", "c"],
            quote! {
                let (mut a, b, mut c, mut d) = (1, 2, 3, f());
                loop { a += 1; c += 1; d += 1; }
            },
        ),
        (vec!["n"], quote! { let mut n: usize = start(); loop { n += f(); } }),
        (vec!["n", "m"], quote! { let mut n = 0; let mut m = 0; loop { n += f(m); } m += 1; }),
        (vec!["n"], quote! { let mut n = 0; loop { n = n.max(f()); } }),
        // Its type is unknown.
        (vec![], quote! { let mut n = f(); loop { n += f(); } }),
        (vec![], quote! { let mut n: Big = 0; loop { n += f(); } }),
        (vec![], quote! { let mut n; n = 0; loop { n += f(); } }),
        // It may be borrowed.
        (vec![], quote! { let mut n = 0; let m = &n; loop { n += f(); } }),
        (vec![], quote! { let mut n = 0; loop { n += f(); n.view(); } }),
        (vec![], quote! { let mut n = 0; let g = || n; loop { n += f(); } }),
        (vec![], quote! { let mut n = 0; let g = async { n }; loop { n += f(); } }),
        (vec![], quote! { let mut n = 0; loop { n += f(); println!("{n}"); } }),
        (vec![], quote! { let mut n = 0; loop { n += f(); g!(n); } }),
        (vec![], quote! { let mut n = 0; match n { ref m => g(m) } loop { n += f(); } }),
        // Another variable of that name.
        (vec![], quote! { let mut n = 0; let n = f(); loop { n += f(); } }),
        (vec![], quote! { let mut n = 0; loop { n += f(); for n in g() {} } }),
        // It is not in scope.
        (vec![], quote! { loop { let mut n = 0; n += f(); } }),
        (vec![], quote! { { let mut n = 0; n += 1; } loop { f(); } }),
        (vec![], quote! { loop { f(); } let mut n = 0; n += 1; }),
    ];
    for (names, statements) in cases {
        let found = body(statements.clone());
        assert_eq!(saved(&found), names, "{statements}");
    }
}

#[test]
fn arguments_are_scalars_by_their_types() {
    let arguments = quote! { mut n: u64, m: u64, mut v: Vec<u8>, (mut a, b): (u8, u8) };
    let found = function(arguments, quote! { loop { n += 1; v = f(); a += 1; } });
    assert_eq!(saved(&found), ["n"]);
}

#[test]
fn an_item_with_the_attribute_inside_another_is_expanded_once() {
    let item = quote! {
        #[gmp::preemptible]
        impl T {
            #[preemptible]
            async fn f() { loop { h(); } }
        }
    };
    let expanded = expand(quote! {}, item.clone()).to_string();
    assert!(!expanded.contains("preemptible"), "{expanded}");
    assert_eq!(checks(item), 1);
}

#[test]
fn attributes_of_a_loop_stay() {
    let found = body(quote! { #[allow(unused)] loop { #![allow(dead_code)] h(); } });
    assert!(found.starts_with("# [allow (unused)] 'outer_1 : loop"), "{found}");
    assert!(found.contains("loop { # ! [allow (dead_code)]"), "{found}");
}

#[test]
fn the_crate_can_be_renamed() {
    let item = quote! { async fn f() { loop { h(); } } };
    let expanded = expand(quote! { crate = "a::b" }, item).to_string();
    assert!(expanded.contains("a :: b :: __preempt :: pause ()"), "{expanded}");
    assert!(!expanded.contains("gmp"), "{expanded}");
}

#[test]
fn a_block_is_expanded() {
    for start in [quote! { async }, quote! { async move }, quote! { async |n: u32| }] {
        let expanded = expand_block(quote! { home::preempt; #start { loop { h(); } } }).to_string();
        assert!(expanded.starts_with(&start.to_string()), "{expanded}");
        assert!(expanded.contains("home :: preempt :: pause () . await"), "{expanded}");
    }
}

#[test]
fn wrong_uses_are_reported_and_the_item_stays() {
    let cases = [
        (quote! {}, quote! { fn f() {} }, "needs an `async fn`"),
        (quote! {}, quote! { fn f(&self); }, "needs an `async fn`"),
        (quote! {}, quote! { mod m; }, "needs an inline module"),
        (quote! {}, quote! { struct S; }, "goes on an `async fn`"),
        (quote! { fast }, quote! { async fn f() {} }, "has one option"),
        (quote! { crate = 1 }, quote! { async fn f() {} }, "has one option"),
        (quote! { crate = "a", b }, quote! { async fn f() {} }, "has one option"),
    ];
    for (options, item, message) in cases {
        let expanded = expand(options, item.clone()).to_string();
        assert!(expanded.contains(message), "{expanded}");
        assert!(expanded.ends_with(&item.to_string()), "{expanded}");
    }
    for block in [
        quote! {},
        quote! { { 1 } },
        quote! { f() },
        quote! { async {}, async {} },
        quote! { || 1 },
    ] {
        let expanded = expand_block(quote! { home; #block }).to_string();
        assert!(expanded.contains("takes an async block"), "{expanded}");
    }
}
