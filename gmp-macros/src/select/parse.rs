//! Parses the cases of a `select!`, and reports what is wrong.

use super::operation::Operation;
use super::pattern::Coverage;
use super::{Case, Select};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Pat, Path, Result, Token};

const CASE: &str = "expected a pattern, `=` and an operation: `value = rx.recv() => …`";
const BOTH: &str = "a select! has `default` or `else`, not both: `default` runs when nothing is \
                    ready now, `else` when every case is disabled";

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let home = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        let mut select = Self {
            home,
            is_biased: false,
            cases: Vec::new(),
            default: None,
            other: None,
            error: None,
            fragment: TokenStream::new(),
        };
        if let Err(error) = select.parse_all(input) {
            select.report(error);
            // What follows belongs to a case whose beginning is unknown.
            input.parse::<TokenStream>()?;
        }
        Ok(select)
    }
}

impl Select {
    /// Adds an error after which the rest can be parsed.
    fn report(&mut self, error: Error) {
        match &mut self.error {
            Some(errors) => errors.combine(error),
            errors => *errors = Some(error),
        }
    }

    fn parse_all(&mut self, input: ParseStream<'_>) -> Result<()> {
        self.is_biased = parse_biased(input)?.is_some();
        while !input.is_empty() {
            if let Some(biased) = parse_biased(input)? {
                self.report(Error::new(biased.span(), "`biased;` must come first in select!"));
            } else if input.peek(Token![else]) || is_default(input) {
                self.parse_fallback(input)?;
            } else {
                self.parse_case(input)?;
            }
        }
        Ok(())
    }

    /// Parses `default => body` or `else => body`.
    fn parse_fallback(&mut self, input: ParseStream<'_>) -> Result<()> {
        let is_else = input.peek(Token![else]);
        let name: Ident = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        if input.peek(Token![,]) {
            let article = if is_else { "an" } else { "a" };
            return Err(input.error(format!("{article} `{name}` case has no guard")));
        }
        parse_arrow(input, &format!("`{name}`"))?;
        let body = parse_body(input)?;
        let end = parse_end(input, &body);
        let (place, other) = match is_else {
            true => (&mut self.other, &self.default),
            false => (&mut self.default, &self.other),
        };
        let is_other = other.is_some();
        if place.replace(body).is_some() {
            let text = format!("a second `{name}`: a select! has at most one");
            self.report(Error::new(name.span(), text));
        } else if is_other {
            self.report(Error::new(name.span(), BOTH));
        }
        end
    }

    fn parse_case(&mut self, input: ParseStream<'_>) -> Result<()> {
        if is_complete(input) {
            return Err(input.error("`complete` is called `else` in gmp::select!"));
        }
        let pattern = input
            .call(Pat::parse_multi_with_leading_vert)
            .map_err(|error| Error::new(error.span(), CASE))?;
        if !input.peek(Token![=]) || input.peek(Token![=>]) {
            return Err(input.error(CASE));
        }
        input.parse::<Token![=]>()?;
        let operation = self.without_await(input.parse()?);
        let (guard, body) = match parse_rest(input) {
            Ok(rest) => rest,
            Err(error) => {
                self.fragment = quote!(let _ = #operation;);
                return Err(error);
            }
        };
        let end = parse_end(input, &body);
        let coverage = Coverage::of(&pattern);
        let operation = Operation::new(operation, coverage);
        self.cases.push(Case { pattern, coverage, operation, guard, body });
        end
    }

    /// Returns an operation without `.await`, which is an error.
    fn without_await(&mut self, operation: Expr) -> Expr {
        match operation {
            Expr::Await(awaited) => {
                let text = "remove `.await`: select! awaits the operation itself";
                self.report(Error::new(awaited.await_token.span(), text));
                *awaited.base
            }
            other => other,
        }
    }
}

/// Parses `biased;`. Returns `None` if the input begins otherwise, such as with a pattern of that
/// name.
fn parse_biased(input: ParseStream<'_>) -> Result<Option<Ident>> {
    let ahead = input.fork();
    let is_biased = ahead.parse::<Ident>().is_ok_and(|name| name == "biased")
        && !(ahead.peek(Token![=]) || ahead.peek(Token![@]) || ahead.peek(Token![|]));
    if !is_biased {
        return Ok(None);
    }
    let biased = input.parse()?;
    if !input.peek(Token![;]) {
        return Err(input.error("expected `;` after `biased`"));
    }
    input.parse::<Token![;]>()?;
    Ok(Some(biased))
}

/// Whether a `default` case comes next, and not a pattern of that name.
///
/// `default, if` counts too, so that the error names the guard.
fn is_default(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let is_named = ahead.parse::<Ident>().is_ok_and(|name| name == "default");
    is_named && (ahead.peek(Token![=>]) || ahead.peek(Token![,]))
}

/// Whether a case begins as the last one of the `select!` of other libraries.
fn is_complete(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.parse::<Ident>().is_ok_and(|name| name == "complete") && ahead.peek(Token![=>])
}

/// Parses what follows the operation: the guard, if there is one, and the body.
fn parse_rest(input: ParseStream<'_>) -> Result<(Option<Expr>, Expr)> {
    let guard = parse_guard(input)?;
    parse_arrow(input, "the operation")?;
    Ok((guard, parse_body(input)?))
}

fn parse_guard(input: ParseStream<'_>) -> Result<Option<Expr>> {
    if !input.peek(Token![,]) {
        return Ok(None);
    }
    input.parse::<Token![,]>()?;
    if !input.peek(Token![if]) {
        return Err(input.error("expected `if` and a condition, or `=>` instead of the comma"));
    }
    input.parse::<Token![if]>()?;
    Ok(Some(input.parse()?))
}

fn parse_arrow(input: ParseStream<'_>, after: &str) -> Result<()> {
    if input.peek(Token![=>]) {
        input.parse::<Token![=>]>()?;
        return Ok(());
    }
    Err(input.error(format!("expected `=>` and a body after {after}")))
}

fn parse_body(input: ParseStream<'_>) -> Result<Expr> {
    if input.is_empty() {
        return Err(input.error("expected a body after `=>`"));
    }
    Expr::parse_with_earlier_boundary_rule(input)
}

/// Parses the comma after a body. As in `match`, a body that ends with a block needs none.
fn parse_end(input: ParseStream<'_>, body: &Expr) -> Result<()> {
    if input.is_empty() || (is_block_like(body) && !input.peek(Token![,])) {
        return Ok(());
    }
    input.parse::<Token![,]>()?;
    Ok(())
}

fn is_block_like(body: &Expr) -> bool {
    matches!(
        body,
        Expr::Async(_)
            | Expr::Block(_)
            | Expr::Const(_)
            | Expr::ForLoop(_)
            | Expr::If(_)
            | Expr::Loop(_)
            | Expr::Match(_)
            | Expr::TryBlock(_)
            | Expr::Unsafe(_)
            | Expr::While(_)
    )
}
