//! Rewrites one loop.
//!
//! The check is at the beginning of the next iteration: before the condition of a `while` and
//! before the next item of a `for`. `continue` jumps there, and neither the item nor a temporary of
//! the condition lives across the await. The loop of the user stays the innermost one, with its
//! label and its body. So `break` and `continue` mean the same as before, also inside macro calls.
//!
//! A loop without an await inside runs in strips (`gmp_rt::preempt`):
//!
//! ```text
//! 'a: while condition { body }        'outer: loop {
//!                                         'pause: {
//!                                             let mut watch = watch();
//!                                             'a: loop {
//!                                                 if watch.is_over() { break 'pause; }
//!                                                 if condition { body } else { break; }
//!                                             }
//!                                             break 'outer;
//!                                         }
//!                                         pause().await;
//!                                     }
//!
//! 'a: loop { body }                   The same, with `break 'outer 'a: loop { … }` for its value.
//!
//! 'a: for item in items { body }      match into_iter(items) { mut kept => 'outer: loop {
//!                                         kept = {
//!                                             let mut iter = kept;
//!                                             loop {
//!                                                 let mut end = End::Left;
//!                                                 let strip = strip(&mut iter, &mut end);
//!                                                 'a: for item in strip { body }
//!                                                 if end.is_final() { break 'outer; }
//!                                                 if is_due() { break; }
//!                                             }
//!                                             iter
//!                                         };
//!                                         pause().await;
//!                                     } }
//! ```
//!
//! A variable that lives across an await is always in memory. So the iterator is moved around the
//! pause, and scalars are copied: `let saved = (sum, at); pause().await; (sum, at) = saved;`.
//!
//! A loop with an await inside has its state in memory in any case, and may continue on another P
//! after each await. It only gets `if is_due() { pause().await; }`.

use super::cheap;
use crate::tail;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{AttrStyle, Path};
use syn::{Attribute, Expr, ExprForLoop, ExprLoop, ExprWhile, Item, Lifetime, Macro, Pat};

/// Macros of the standard library that await only if their tokens contain an `await`.
const TRANSPARENT_MACROS: [&str; 24] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "matches",
    "panic",
    "print",
    "println",
    "stringify",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
    "env",
];

/// What is known about the place of a loop.
pub(super) struct Site<'a> {
    /// The path of the run-time half.
    home: &'a Path,
    /// The scalars to copy around the pause.
    saved: Vec<Ident>,
    /// Numbers the labels, because nested ones must differ.
    number: usize,
}

impl<'a> Site<'a> {
    pub(super) fn new(home: &'a Path, number: usize, saved: Vec<Ident>) -> Self {
        Self { home, saved, number }
    }

    /// Rewrites a loop. Leaves any other expression as it is.
    pub(super) fn rewrite(&self, expression: &mut Expr) {
        let tokens = match expression {
            Expr::Loop(found) => self.rewrite_loop(found),
            Expr::While(found) => self.rewrite_while(found),
            Expr::ForLoop(found) => self.rewrite_for(found),
            _ => return,
        };
        *expression = syn::parse_quote!(#tokens);
    }

    fn rewrite_loop(&self, found: &ExprLoop) -> TokenStream {
        let (outer, inner) = split(&found.attrs);
        let (label, statements) = (&found.label, &found.body.stmts);
        let span = found.loop_token.span();
        if has_await(|visit| visit.visit_block(&found.body)) {
            let check = self.check(span);
            return quote!(#(#outer)* #label loop { #(#inner)* #check #(#statements)* });
        }
        let [outer_label, pause_label] = self.labels();
        let watch = ident("watch");
        let strip = quote! {
            #label loop {
                #(#inner)*
                if #watch.is_over() { break #pause_label; }
                #(#statements)*
            }
        };
        // A loop without a `break` has no value.
        let strip = match (tail::has_break(found), label) {
            (false, _) => strip,
            (true, None) => quote!(break #outer_label #strip;),
            (true, Some(_)) => quote!(break #outer_label (#strip);),
        };
        self.strips(&outer, &strip, span)
    }

    fn rewrite_while(&self, found: &ExprWhile) -> TokenStream {
        let (outer, inner) = split(&found.attrs);
        let ExprWhile { label, cond, body, .. } = found;
        let (span, statements) = (found.while_token.span(), &body.stmts);
        // With the span of the user's keyword, because the edition of `if` decides when temporaries
        // of the condition are dropped.
        let keyword = quote_spanned!(span=> if);
        let iteration = quote!(#keyword #cond { #(#inner)* #(#statements)* } else { break; });
        let awaits = has_await(|visit| {
            visit.visit_expr(cond);
            visit.visit_block(body);
        });
        if awaits {
            let check = self.check(span);
            return quote!(#(#outer)* #label loop { #check #iteration });
        }
        let [outer_label, pause_label] = self.labels();
        let watch = ident("watch");
        let strip = quote! {
            #label loop {
                if #watch.is_over() { break #pause_label; }
                #iteration
            }
            break #outer_label;
        };
        self.strips(&outer, &strip, span)
    }

    /// Returns the outer loop of a `loop` or a `while`.
    fn strips(&self, attributes: &[&Attribute], strip: &TokenStream, span: Span) -> TokenStream {
        let home = self.home;
        let [outer_label, pause_label] = self.labels();
        let (watch, pause) = (ident("watch"), self.pause(span));
        quote! {
            #(#attributes)*
            #outer_label: loop {
                #pause_label: {
                    let mut #watch = #home::watch();
                    #strip
                }
                #pause
            }
        }
    }

    /// Rewrites a `for` loop with an await inside.
    fn check_for(&self, found: &ExprForLoop) -> TokenStream {
        let (outer, inner) = split(&found.attrs);
        let ExprForLoop { label, pat, expr, body, for_token, .. } = found;
        let (check, statements) = (self.check(for_token.span()), &body.stmts);
        let (iter, item, into_iter) = (ident("iter"), ident("item"), into_iter(expr));
        let pat = match &**pat {
            // `let` requires the parentheses.
            Pat::Or(pat) => quote!((#pat)),
            pat => quote!(#pat),
        };
        quote! {
            #(#outer)*
            {
                match #into_iter(#expr) {
                    mut #iter => #label loop {
                        #(#inner)*
                        #check
                        let #pat = match ::core::iter::Iterator::next(&mut #iter) {
                            ::core::option::Option::Some(#item) => #item,
                            ::core::option::Option::None => break,
                        };
                        #(#statements)*
                    }
                };
            }
        }
    }

    fn rewrite_for(&self, found: &ExprForLoop) -> TokenStream {
        if has_await(|visit| visit.visit_block(&found.body)) {
            return self.check_for(found);
        }
        let (outer, inner) = split(&found.attrs);
        let ExprForLoop { label, pat, expr, body, for_token, in_token, .. } = found;
        let (span, statements, home) = (for_token.span(), &body.stmts, self.home);
        let (iter, into_iter) = (ident("iter"), into_iter(expr));
        let tag = match cheap::is_cheap(body) {
            true => quote!({
                use #home::{IsFlagged as _, IsSplit as _};
                (&#home::Probe(&#iter)).tag()
            }),
            false => quote!(#home::FlaggedTag),
        };
        let [outer_label, _] = self.labels();
        let [kept, end, strip] = ["kept", "end", "strip"].map(ident);
        let pause = self.pause(span);
        let items = quote_spanned!(expr.span()=> #strip.strip(&mut #iter, &mut #end));
        quote! {
            #(#outer)*
            {
                match #into_iter(#expr) {
                    mut #kept => #outer_label: loop {
                        #kept = {
                            let mut #iter = #kept;
                            let #strip = #tag;
                            loop {
                                let mut #end = #home::End::Left;
                                #label #for_token #pat #in_token #items {
                                    #(#inner)*
                                    #(#statements)*
                                }
                                if #end.is_final() { break #outer_label; }
                                if #home::is_due() { break; }
                            }
                            #iter
                        };
                        #pause
                    }
                };
            }
        }
    }

    /// Returns the check of a loop with an await inside.
    fn check(&self, span: Span) -> TokenStream {
        let (home, pause) = (self.home, self.pause(span));
        quote!(if #home::is_due() { #pause })
    }

    /// Returns the pause between two strips. Its await has the span of the loop's keyword, where
    /// the compiler reports a value that is not `Send`.
    fn pause(&self, span: Span) -> TokenStream {
        let (home, scalars, saved) = (self.home, &self.saved, ident("saved"));
        let pause = quote_spanned!(Span::mixed_site().located_at(span)=> #home::pause().await;);
        if scalars.is_empty() {
            return pause;
        }
        quote! {
            let #saved = (#(#scalars,)*);
            #pause
            #[allow(clippy::allow_attributes, unused_assignments)]
            { (#(#scalars,)*) = #saved; }
        }
    }

    fn labels(&self) -> [Lifetime; 2] {
        ["outer", "pause"]
            .map(|name| Lifetime::new(&format!("'{name}_{}", self.number), Span::mixed_site()))
    }
}

/// Returns the function that makes an iterator. It has the span of its argument, where rustc
/// reports that this is not an iterator.
fn into_iter(expression: &Expr) -> TokenStream {
    quote_spanned!(expression.span()=> ::core::iter::IntoIterator::into_iter)
}

/// Returns a name that the user's code cannot see.
fn ident(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Splits the attributes of a loop into those before it and those inside its body.
fn split(attributes: &[Attribute]) -> (Vec<&Attribute>, Vec<&Attribute>) {
    attributes.iter().partition(|attribute| matches!(attribute.style, AttrStyle::Outer))
}

/// Whether code that belongs to the same async body has an await.
fn has_await(visit: impl FnOnce(&mut Awaits)) -> bool {
    let mut awaits = Awaits(false);
    visit(&mut awaits);
    awaits.0
}

/// Finds an await. An unknown macro call counts as one.
struct Awaits(bool);

impl<'a> Visit<'a> for Awaits {
    fn visit_expr_await(&mut self, _: &'a syn::ExprAwait) {
        self.0 = true;
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        let name = call.path.segments.last().map(|segment| &segment.ident);
        let is_known =
            name.is_some_and(|name| TRANSPARENT_MACROS.iter().any(|known| name == known));
        self.0 |= !is_known || tail::mentions(call.tokens.clone(), "await");
    }

    fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'a Item) {}
}
