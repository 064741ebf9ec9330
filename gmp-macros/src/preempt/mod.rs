//! `#[preemptible]` and `preemptible_block!`: preemption checks in loops.
//!
//! [`walk`] finds the loops in async code, [`loops`] rewrites one of them, [`cheap`] decides which
//! loops need no check in each iteration, and [`scalars`] finds the variables that stay in
//! registers.

mod cheap;
mod loops;
mod scalars;
mod walk;

#[cfg(test)]
mod tests;

use self::walk::Walk;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Error, Expr, Item, LitStr, Path, Result, Signature, Token, TraitItemFn};

const NOT_ASYNC: &str = "#[gmp::preemptible] needs an `async fn`: add `async`, or put \
                         `gmp::preemptible_block!(…)` around the async block in this function";
const OUT_OF_LINE: &str = "#[gmp::preemptible] needs an inline module, `mod name { … }`: put it on \
                           the functions and `impl` blocks in the file instead";
const OTHER_ITEM: &str =
    "#[gmp::preemptible] goes on an `async fn`, an `impl` block, a trait or an inline module";
const OPTIONS: &str = "#[gmp::preemptible] has one option: `crate = \"path\"`";
const NOT_A_BLOCK: &str =
    "preemptible_block! takes an async block: `preemptible_block!(async { … })`";

/// Returns the item with checks. If that is impossible, returns the errors and the unchanged item.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    match try_expand(options, item.clone()) {
        Ok(tokens) => tokens,
        Err(error) => {
            let error = error.to_compile_error();
            quote!(#error #item)
        }
    }
}

/// Returns the block with checks, or the errors.
pub(crate) fn expand_block(input: TokenStream) -> TokenStream {
    match syn::parse2::<Block>(input) {
        Ok(Block { home, mut body }) => {
            Walk::new(&home).visit_expr_mut(&mut body);
            body.into_token_stream()
        }
        Err(error) => error.to_compile_error(),
    }
}

fn try_expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let home = parse_home.parse2(options)?;
    // A method: the attribute is inside an `impl` or a trait.
    if let Ok(mut method) = syn::parse2::<syn::ImplItemFn>(item.clone()) {
        check_async(&method.sig)?;
        Walk::new(&home).visit_impl_item_fn_mut(&mut method);
        return Ok(method.into_token_stream());
    }
    if let Ok(method) = syn::parse2::<TraitItemFn>(item.clone()) {
        check_async(&method.sig)?;
        return Ok(item);
    }
    let mut item = syn::parse2::<Item>(item)?;
    match &item {
        Item::Fn(function) => check_async(&function.sig)?,
        Item::Mod(module) if module.content.is_none() => {
            return Err(Error::new(module.span(), OUT_OF_LINE));
        }
        Item::Impl(_) | Item::Mod(_) | Item::Trait(_) => {}
        other => return Err(Error::new(other.span(), OTHER_ITEM)),
    }
    Walk::new(&home).visit_item_mut(&mut item);
    Ok(item.into_token_stream())
}

fn check_async(sig: &Signature) -> Result<()> {
    match sig.asyncness {
        Some(_) => Ok(()),
        None => Err(Error::new(sig.fn_token.span(), NOT_ASYNC)),
    }
}

/// Parses the options. Returns the path of the run-time half.
fn parse_home(input: ParseStream<'_>) -> Result<Path> {
    if input.is_empty() {
        return Ok(syn::parse_quote!(::gmp::__preempt));
    }
    let unknown = input.error(OPTIONS);
    if input.parse::<Token![crate]>().is_err() || input.parse::<Token![=]>().is_err() {
        return Err(unknown);
    }
    let krate = input.parse::<LitStr>().map_err(|_| unknown)?.parse::<Path>()?;
    input.parse::<Option<Token![,]>>()?;
    if !input.is_empty() {
        return Err(input.error(OPTIONS));
    }
    Ok(syn::parse_quote!(#krate::__preempt))
}

/// The input of `preemptible_block!`. The macro around it puts the path of the run-time half first.
struct Block {
    home: Path,
    body: Expr,
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let home = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        if input.is_empty() {
            return Err(Error::new(Span::call_site(), NOT_A_BLOCK));
        }
        let body = input.parse::<Expr>()?;
        input.parse::<Option<Token![,]>>()?;
        if !input.is_empty() || !is_async(&body) {
            return Err(Error::new(body.span(), NOT_A_BLOCK));
        }
        Ok(Self { home, body })
    }
}

/// Whether an expression is an async block or an async closure.
fn is_async(expression: &Expr) -> bool {
    match expression {
        Expr::Async(_) => true,
        Expr::Closure(closure) => closure.asyncness.is_some(),
        // A `$block:expr` of a macro around this one.
        Expr::Group(group) => is_async(&group.expr),
        _ => false,
    }
}

/// Whether an attribute is `#[preemptible]`, by its name.
pub(crate) fn is_preemptible(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "preemptible")
}
