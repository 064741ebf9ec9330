//! `go!`: the grammar, and its expansion.
//!
//! ```text
//! go      := path ';' option* body        option := 'name' '=' expr ','
//! body    := block | closure | statements | expression [',']
//! closure := ['async'] ['move'] '||' ['->' type] expr
//! ```
//!
//! The first path is the crate with the run-time half. `gmp_rt::go!` puts it there.
//!
//! The goroutine awaits the value of a block, of statements and of a closure if it is a future. An
//! autoref probe of the run-time half decides by its type. The probe needs a known type, and a body
//! that diverges has none. So [`Tail`] finds the bodies that are not futures by their syntax.

use crate::tail::Tail;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, ExprClosure, Path, Result, Token};

const NOTHING: &str =
    "go! needs something to run: a call of an async fn, a block, a future or a closure";
const ONLY_OPTIONS: &str = "go! needs something to run after its options: go!(name = \"…\", f(x))";

/// Returns the expansion, or the compile errors.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    match syn::parse2::<Go>(input) {
        Ok(go) => go.expand(),
        Err(error) => error.to_compile_error(),
    }
}

struct Go {
    /// The crate with the run-time half.
    home: Path,
    name: Option<Expr>,
    body: Body,
}

enum Body {
    /// The inside of an `async move` block.
    Statements(TokenStream, Tail),
    Closure(ExprClosure),
    /// A future.
    Future(Expr),
}

impl Parse for Go {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let home = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        if input.is_empty() {
            return Err(Error::new(Span::call_site(), NOTHING));
        }
        let mut name = None;
        while let Some((option, value)) = parse_option(input)? {
            if option != "name" {
                let text = format!("go!: unknown option `{option}`; the only option is `name`");
                return Err(Error::new(option.span(), text));
            }
            if name.replace(value).is_some() {
                return Err(Error::new(option.span(), "go!: option `name` is given twice"));
            }
        }
        if input.is_empty() {
            return Err(Error::new(Span::call_site(), ONLY_OPTIONS));
        }
        Ok(Self { home, name, body: input.parse()? })
    }
}

/// Parses `option = value` and the comma after it. Returns `None` if the input begins otherwise,
/// such as with an assignment that is the first of several statements.
fn parse_option(input: ParseStream<'_>) -> Result<Option<(Ident, Expr)>> {
    let ahead = input.fork();
    let is_option = ahead.parse::<Ident>().is_ok()
        && ahead.peek(Token![=])
        && !ahead.peek(Token![==])
        && !ahead.peek(Token![=>])
        && ahead.parse::<Token![=]>().is_ok()
        && ahead.parse::<Expr>().is_ok()
        && (ahead.is_empty() || ahead.peek(Token![,]));
    if !is_option {
        return Ok(None);
    }
    let option = input.parse()?;
    input.parse::<Token![=]>()?;
    let value = input.parse()?;
    input.parse::<Option<Token![,]>>()?;
    Ok(Some((option, value)))
}

impl Parse for Body {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ahead = input.fork();
        let expression = ahead.parse::<Expr>();
        if expression.is_ok() && ahead.peek(Token![,]) {
            ahead.parse::<Token![,]>()?;
            if !ahead.is_empty() {
                let text = "go! starts one goroutine; write one go! for each";
                return Err(Error::new(ahead.span(), text));
            }
        }
        let tokens = input.parse()?;
        match expression {
            Ok(expression) if ahead.is_empty() => Self::of(expression),
            // Statements, or syntax that only rustc parses.
            _ => Ok(Self::statements(tokens)),
        }
    }
}

impl Body {
    /// Returns the body that is one expression.
    fn of(expression: Expr) -> Result<Self> {
        match expression {
            // A `$body:expr` or `$body:block` of a macro around this one.
            Expr::Group(group) => Self::of(*group.expr),
            Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => {
                let statements = &block.block.stmts;
                let tail = Tail::of(statements);
                Ok(Self::Statements(quote!(#(#statements)*), tail))
            }
            // A loop is not a future. The goroutine runs it.
            Expr::Block(_) | Expr::ForLoop(_) | Expr::Loop(_) | Expr::While(_) => {
                let tail = Tail::of_expression(&expression);
                Ok(Self::Statements(quote!(#expression), tail))
            }
            Expr::Closure(closure) => match closure.inputs.first() {
                None => Ok(Self::Closure(closure)),
                Some(input) => {
                    let text = "go!: the closure takes no arguments; move what it needs into it";
                    Err(Error::new(input.span(), text))
                }
            },
            future => Ok(Self::Future(future)),
        }
    }

    fn statements(tokens: TokenStream) -> Self {
        let tail = match Block::parse_within.parse2(tokens.clone()) {
            Ok(statements) => Tail::of(&statements),
            Err(_) => Tail::Value,
        };
        Self::Statements(tokens, tail)
    }
}

impl Go {
    fn expand(&self) -> TokenStream {
        let Self { home, name, body } = self;
        match body {
            Body::Statements(statements, tail) => {
                self.start(quote!(async move { #statements }), *tail)
            }
            Body::Closure(closure) => self.start_closure(closure),
            Body::Future(future) => {
                // With the span of the expression, where rustc reports that it is not a future.
                let arguments = match name {
                    Some(name) => quote!(#name, #future),
                    None => quote!(#future),
                };
                let start = if name.is_some() { "start_named" } else { "start" };
                let start = Ident::new(start, future.span());
                quote!(#home::__go::#start(#arguments))
            }
        }
    }

    /// Starts a closure, which runs as a whole inside the goroutine.
    fn start_closure(&self, closure: &ExprClosure) -> TokenStream {
        let body = &closure.body;
        let tail = Tail::of_expression(body);
        let is_plain = matches!(closure.output, syn::ReturnType::Default);
        let call = Ident::new("closure", Span::mixed_site());
        match (&closure.capture, &closure.asyncness) {
            (Some(_), _) if is_plain => {
                // Rustc would report braces around those of the user as unused.
                let block = match &**body {
                    Expr::Block(block) if block.label.is_none() => quote!(#block),
                    body => quote!({ #body }),
                };
                self.start(quote!(async move #block), tail)
            }
            (_, None) => {
                let start = self.start(quote!(async move { #call() }), tail);
                quote!(match #closure { #call => #start })
            }
            (_, Some(_)) => {
                let start = self.start(quote!(async move { #call().await }), tail);
                quote!(match #closure { #call => #start })
            }
        }
    }

    /// Starts `future`. If its value is a future, the goroutine runs that too.
    fn start(&self, future: TokenStream, tail: Tail) -> TokenStream {
        let home = &self.home;
        if tail == Tail::NoFuture {
            return match &self.name {
                Some(name) => quote!(#home::__go::spawn_named(#name, #future)),
                None => quote!(#home::spawn(#future)),
            };
        }
        let (name, value) =
            (Ident::new("name", Span::mixed_site()), Ident::new("future", Span::mixed_site()));
        // The name is evaluated first, because the future may move variables that the name uses.
        let given = match &self.name {
            Some(given) => quote! {
                ::core::option::Option::Some(::core::convert::Into::<::std::string::String>::into(#given))
            },
            None => quote!(::core::option::Option::None),
        };
        // Clippy does not see that the inner future is awaited.
        quote! {{
            use #home::__go::{IsNested as _, IsPlain as _};
            let #name = #given;
            #[allow(clippy::allow_attributes, clippy::async_yields_async)]
            let #value = #future;
            (&#home::__go::Probe(&#value)).tag().spawn(#name, #value)
        }}
    }
}
