//! `join!` and `try_join!`: the expansion.
//!
//! ```text
//! join := path ';' (expression ',')* [expression]
//! ```
//!
//! The first path is that of the run-time half. The futures become nested branches, and their
//! outputs nested pairs. The expansion makes a tuple of the pairs.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Path, Result, Token};

struct Join {
    home: Path,
    futures: Vec<Expr>,
}

impl Parse for Join {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let home = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        let futures = Punctuated::<Expr, Token![,]>::parse_terminated(input)?;
        Ok(Self { home, futures: futures.into_iter().collect() })
    }
}

impl Join {
    /// Returns the future of all branches.
    fn branches(&self) -> TokenStream {
        let home = &self.home;
        self.futures.iter().rev().fold(quote!(#home::End), |tail, future| {
            // With the span of the expression, where rustc reports that it is not a future.
            let branch = quote_spanned!(future.span()=> branch);
            quote!(#home::#branch(#future, #tail))
        })
    }

    /// Returns the pattern of the nested pairs, and the tuple.
    fn outputs(&self) -> (TokenStream, TokenStream) {
        let names: Vec<Ident> = (0..self.futures.len())
            .map(|n| Ident::new(&format!("output{n}"), Span::mixed_site()))
            .collect();
        let pairs = names.iter().rev().fold(quote!(()), |tail, name| quote!((#name, #tail)));
        (pairs, quote!((#(#names,)*)))
    }
}

fn parsed(input: TokenStream, expand: impl FnOnce(&Join) -> TokenStream) -> TokenStream {
    match syn::parse2::<Join>(input) {
        Ok(join) => expand(&join),
        Err(error) => error.to_compile_error().into_token_stream(),
    }
}

/// Returns the expansion of `join!`, or the compile error.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    parsed(input, |join| {
        let (home, branches, (pairs, tuple)) = (&join.home, join.branches(), join.outputs());
        quote!(match #home::join(#branches).await { #pairs => #tuple })
    })
}

/// Returns the expansion of `try_join!`, or the compile error.
pub(crate) fn expand_try(input: TokenStream) -> TokenStream {
    parsed(input, |join| {
        let (home, branches, (pairs, tuple)) = (&join.home, join.branches(), join.outputs());
        let (ok, err) = (quote!(::core::result::Result::Ok), quote!(::core::result::Result::Err));
        let error = Ident::new("error", Span::mixed_site());
        quote! {
            match #home::try_join(#branches).await {
                #ok(#pairs) => #ok(#tuple),
                #err(#error) => #err(#error),
            }
        }
    })
}
