//! `select!`: the grammar, and its expansion.
//!
//! ```text
//! select  := path ';' case*
//! case    := pattern '=' expression [',' 'if' expression] '=>' body
//!          | 'default' '=>' body
//! body    := block [','] | expression ','        (the last comma may be missing)
//! ```
//!
//! The first path is that of the run-time half. `gmp_sync::select!` puts it there.
//!
//! The expansion pins each case where it is made, makes a list of references to the cases, and
//! awaits the choice. It moves the output of the chosen case into an enum, and drops all cases.
//! Then a `match` on the enum runs the body. So a body may use what the cases borrowed, and
//! `break`, `return` and `?` have their usual meaning in it.
//!
//! Each case is the scrutinee of a `match` around the next one. So the temporaries of its
//! expression live until the choice is made. A case is moved at most once, because it contains the
//! state of a wait and is large.
//!
//! The output of a send is its permit. The value is evaluated just before the body, in the same
//! arm. So the compiler knows that the value is moved only if that body runs. Until then the permit
//! is *held*, without a destructor. With a destructor it would borrow the sender to the end of the
//! bodies.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprMethodCall, Pat, Path, Result, Token, token};

/// Returns the expansion, or the compile errors.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    match syn::parse2::<Select>(input) {
        Ok(select) => select.expand(),
        Err(error) => error.to_compile_error(),
    }
}

struct Select {
    /// The path of the run-time half.
    home: Path,
    cases: Vec<Case>,
    default: Option<Expr>,
}

struct Case {
    pattern: Pat,
    operation: Operation,
    guard: Option<Expr>,
    body: Expr,
}

enum Operation {
    /// `sender.send(value)`.
    Send { sender: Box<Expr>, value: Box<Expr> },
    /// A receive or any future. The type decides.
    Await(Box<Expr>),
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let home = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        let mut select = Self { home, cases: Vec::new(), default: None };
        while !input.is_empty() {
            select.parse_case(input)?;
        }
        Ok(select)
    }
}

impl Select {
    fn parse_case(&mut self, input: ParseStream<'_>) -> Result<()> {
        if is_default(input) {
            let default: Ident = input.parse()?;
            if input.peek(Token![,]) {
                return Err(input.error("a `default` case has no guard"));
            }
            parse_arrow(input, "`default`")?;
            let body = parse_body(input)?;
            if self.default.replace(body).is_some() {
                return Err(Error::new(
                    default.span(),
                    "a second `default`: a select has one at most",
                ));
            }
            return Ok(());
        }
        let pattern = input.call(Pat::parse_multi_with_leading_vert)?;
        if !input.peek(Token![=]) || input.peek(Token![=>]) {
            let hint = "expected `=` and an operation after the pattern: `value = rx.recv() => …`";
            return Err(input.error(hint));
        }
        input.parse::<Token![=]>()?;
        let operation = Operation::new(input.parse()?);
        let guard = parse_guard(input)?;
        parse_arrow(input, "the operation")?;
        let body = parse_body(input)?;
        self.cases.push(Case { pattern, operation, guard, body });
        Ok(())
    }
}

/// Whether a `default` case comes next, and not a pattern of that name.
///
/// `default, if` counts too, so that the error names the guard.
fn is_default(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    let named = fork.parse::<Ident>().is_ok_and(|name| name == "default");
    named && (fork.peek(Token![=>]) || fork.peek(Token![,]))
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
    if input.peek(token::Brace) {
        let block = Expr::Block(input.parse()?);
        input.parse::<Option<Token![,]>>()?;
        return Ok(block);
    }
    let body = input.parse()?;
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(body)
}

impl Operation {
    fn new(expression: Expr) -> Self {
        match expression {
            Expr::Paren(paren) => Self::new(*paren.expr),
            // An `$operation:expr` of a macro around this one.
            Expr::Group(group) => Self::new(*group.expr),
            Expr::MethodCall(call) if is_send(&call) => {
                let ExprMethodCall { receiver: sender, mut args, .. } = call;
                match args.pop() {
                    Some(value) => Self::Send { sender, value: Box::new(value.into_value()) },
                    None => Self::Await(sender),
                }
            }
            other => Self::Await(Box::new(other)),
        }
    }

    /// Returns the expression whose temporaries live as long as the case.
    fn value(&self, home: &Path) -> TokenStream {
        match self {
            // The permit outlives the cases and their temporaries. So it may borrow from the target
            // of a temporary reference, but not from the temporary.
            Self::Send { sender, .. } if !is_place(sender) => {
                let sender = quote_spanned!(sender.span()=> (#sender));
                quote!(#home::send_case_of #sender)
            }
            Self::Send { sender, .. } => {
                let reference = quote_spanned!(sender.span()=> &#sender);
                quote!(#home::send_case(#reference))
            }
            Self::Await(expression) => quote!(#expression),
        }
    }

    /// Returns the case, made from the value of that expression.
    fn case(&self, home: &Path, value: &Ident) -> TokenStream {
        match self {
            Self::Send { .. } => quote!(#value),
            Self::Await(expression) => {
                let owned = Ident::new("owned", Span::mixed_site());
                // With the span of the expression, where rustc reports that it is not a future.
                let make = quote_spanned!(expression.span()=> case);
                quote!({
                    use #home::{AsFuture as _, AsRecv as _};
                    let #owned = #value;
                    (&#home::Probe(&#owned)).tag().#make(#owned)
                })
            }
        }
    }
}

/// Whether an expression is a place and not a temporary.
fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => true,
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Deref(_)),
        Expr::Paren(paren) => is_place(&paren.expr),
        Expr::Group(group) => is_place(&group.expr),
        _ => false,
    }
}

fn is_send(call: &ExprMethodCall) -> bool {
    call.method == "send" && call.args.len() == 1 && call.turbofish.is_none()
}

impl Case {
    /// Pins the case and binds `name` to it in `inner`.
    fn pinned(&self, home: &Path, name: &Ident, inner: &TokenStream) -> TokenStream {
        let value = Ident::new("value", Span::mixed_site());
        let (operation, case) = (self.operation.value(home), self.operation.case(home, &value));
        let (operation, case) = match &self.guard {
            None => (operation, case),
            Some(guard) => (
                quote! {
                    #home::Guarded::new(if #guard {
                        ::core::option::Option::Some(match #operation { #value => #case })
                    } else {
                        ::core::option::Option::None
                    })
                },
                quote!(#value),
            ),
        };
        quote! {
            match #operation {
                #value => match ::core::pin::pin!(#case) {
                    #name => { #inner }
                },
            }
        }
    }

    /// Returns the body, with the pattern bound to the output of the chosen case.
    fn run(&self, output: &Ident) -> TokenStream {
        let result = match &self.operation {
            Operation::Send { value, .. } => quote!(#output.release().send(#value)),
            Operation::Await(_) => quote!(#output),
        };
        let pattern = match &self.pattern {
            // `let` requires the parentheses.
            Pat::Or(pattern) => quote!((#pattern)),
            pattern => quote!(#pattern),
        };
        // The statements of a block, not the block. Rustc would report braces inside braces as
        // unused.
        let body = match &self.body {
            Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => {
                let statements = &block.block.stmts;
                quote!(#(#statements)*)
            }
            body => quote!(#body),
        };
        quote!({ let #pattern = #result; #body })
    }

    /// Returns the output of the chosen case in the form in which it outlives the cases.
    fn held(&self, home: &Path, output: &Ident) -> TokenStream {
        match &self.operation {
            Operation::Send { .. } => quote!(#home::Held::new(#output)),
            Operation::Await(_) => quote!(#output),
        }
    }
}

/// Returns a name that the user's code cannot see.
fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

impl Select {
    /// Pins the cases, and runs `inner` with `list` bound to the list of them.
    fn with_list(&self, list: &Ident, inner: TokenStream) -> TokenStream {
        let home = &self.home;
        let names: Vec<Ident> =
            (0..self.cases.len()).map(|n| hidden(&format!("case{n}"))).collect();
        let cases = names
            .iter()
            .rev()
            .fold(quote!(#home::Nil), |tail, case| quote!(#home::Cons::new(#case, #tail)));
        let inner = quote!(let mut #list = #cases; #inner);
        self.cases
            .iter()
            .zip(&names)
            .rev()
            .fold(inner, |inner, (case, name)| case.pinned(home, name, &inner))
    }

    fn expand(&self) -> TokenStream {
        let home = &self.home;
        if self.cases.is_empty() && self.default.is_none() {
            return quote!(match #home::forever().await {});
        }
        let out = format_ident!("__GmpSelected");
        let [list, cases, value, selected] = ["list", "cases", "value", "selected"].map(hidden);
        let names: Vec<Ident> = (0..self.cases.len()).map(|n| format_ident!("Case{n}")).collect();
        let mut place = quote!(#list);
        let outputs = names.iter().enumerate().map(|(n, name)| {
            let output = quote!(#place.output());
            place = quote!(#place.tail());
            quote!(#home::Chosen::Case(#n) => #out::#name(#output))
        });
        let outputs: Vec<TokenStream> = outputs.collect();
        let held = self.cases.iter().zip(&names).map(|(case, name)| {
            let held = case.held(home, &value);
            quote!(#out::#name(#value) => #out::#name(#held))
        });
        let bodies = self.cases.iter().zip(&names).map(|(case, name)| {
            let run = case.run(&value);
            quote!(#out::#name(#value) => #run)
        });
        let (will, default, default_held, default_body, rest) = match &self.default {
            Some(body) => (
                quote!(GoOn),
                Some(quote!(Default,)),
                Some(quote!(#out::Default => #out::Default,)),
                Some(quote!(#out::Default => #body)),
                quote!(_ => #out::Default),
            ),
            None => (quote!(Wait), None, None, None, quote!(_ => ::core::unreachable!())),
        };
        let choice = self.with_list(
            &list,
            quote! {
                let #cases = ::core::pin::Pin::new(&mut #list);
                #selected = match #home::choose(#cases, #home::Will::#will).await {
                    #(#outputs,)*
                    #rest,
                };
            },
        );
        quote! {{
            #[allow(clippy::allow_attributes, non_camel_case_types)]
            enum #out<#(#names),*> { #(#names(#names),)* #default }
            match {
                // A variable, not the value of the block: rustc does not drop such a value if the
                // drop of another case panics.
                let #selected;
                #choice
                match #selected {
                    #(#held,)*
                    #default_held
                }
            } {
                #(#bodies)*
                #default_body
            }
        }}
    }
}
