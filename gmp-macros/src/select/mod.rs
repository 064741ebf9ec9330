//! `select!`: the grammar, and its expansion.
//!
//! ```text
//! select  := path ';' ['biased' ';'] case*
//! case    := pattern '=' expression [',' 'if' expression] '=>' body
//!          | 'default' '=>' body
//!          | 'else' '=>' body
//! body    := block-like [','] | expression ','   (the last comma may be missing)
//! ```
//!
//! The first path is that of the run-time half. `gmp_sync::select!` puts it there.
//!
//! [`parse`] collects the cases and the errors. If there is an error, the expansion has it and what
//! was parsed, so that an editor still knows the names inside.

mod expand;
mod operation;
mod parse;
mod pattern;

use self::operation::Operation;
use self::pattern::Coverage;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Error, Expr, Pat, Path};

/// Returns the expansion, with the compile errors.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let select = match syn::parse2::<Select>(input) {
        Ok(select) => select,
        Err(error) => return error.to_compile_error(),
    };
    let Some(error) = select.error.as_ref().map(Error::to_compile_error) else {
        return select.expand();
    };
    let fragment = &select.fragment;
    if select.is_empty() {
        return quote!({ #fragment #error });
    }
    let expansion = select.expand();
    quote!({ #error #fragment #expansion })
}

struct Select {
    /// The path of the run-time half.
    home: Path,
    is_biased: bool,
    cases: Vec<Case>,
    /// The body of `default`.
    default: Option<Expr>,
    /// The body of `else`.
    other: Option<Expr>,
    /// All errors.
    error: Option<Error>,
    /// Statements with the parts of a case that could not be parsed as a whole.
    fragment: TokenStream,
}

impl Select {
    /// Whether there is nothing to wait for and nothing to run.
    fn is_empty(&self) -> bool {
        self.cases.is_empty() && self.default.is_none() && self.other.is_none()
    }
}

struct Case {
    pattern: Pat,
    coverage: Coverage,
    operation: Operation,
    guard: Option<Expr>,
    body: Expr,
}

/// Returns a name that the user's code cannot see.
fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
