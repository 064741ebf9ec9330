//! `#[main]` and `#[test]`: the options, and the expansion.

use crate::preempt;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::time::Duration;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, Path, Result, ReturnType, Token};

/// Which attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Main,
    Test,
}

impl Entry {
    fn attribute(self) -> &'static str {
        match self {
            Self::Main => "#[gmp::main]",
            Self::Test => "#[gmp::test]",
        }
    }
}

/// Returns a function that runs the body on a runtime.
///
/// If that is impossible, returns the compile errors and an empty function of the same name. The
/// latter avoids follow-up errors in the rest of the program.
pub(crate) fn expand(entry: Entry, options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    match try_expand(entry, options, &function) {
        Ok(tokens) => tokens,
        Err(error) => {
            let (error, name) = (error.to_compile_error(), &function.sig.ident);
            quote!(#error fn #name() {})
        }
    }
}

fn try_expand(entry: Entry, options: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    check_signature(entry, function)?;
    let options = Options::parse(entry, options)?;
    let gmp = options.krate.clone().unwrap_or_else(|| syn::parse_quote!(::gmp));
    let builder = options.builder(&gmp);
    let ItemFn { attrs, vis, sig, block } = function;
    // `#[preemptible]` goes to the async function, in any order of the attributes.
    let (preemptible, attrs): (Vec<_>, Vec<_>) =
        attrs.iter().partition(|attribute| preempt::is_preemptible(attribute));
    let (name, output) = (&sig.ident, &sig.output);
    let body = format_ident!("__gmp_{}", name);
    let (test, call) = match entry {
        Entry::Main => (None, quote!(#gmp::__entry::run_main(#builder, #body()))),
        Entry::Test => {
            let after = options.deadlock_after(&gmp);
            let call = quote!(#gmp::__entry::run_test(#builder, #after, #body()));
            (Some(quote!(#[::core::prelude::v1::test])), call)
        }
    };
    // A function without a result stays one, because `#[should_panic]` requires it.
    let (result, call) = match output {
        ReturnType::Default => (None, quote!(let _: ::std::process::ExitCode = #call;)),
        ReturnType::Type(..) => (Some(quote!(-> ::std::process::ExitCode)), call),
    };
    Ok(quote! {
        #test
        #(#attrs)*
        #vis fn #name() #result {
            #(#preemptible)*
            async fn #body() #output #block
            #call
        }
    })
}

fn check_signature(entry: Entry, function: &ItemFn) -> Result<()> {
    let (sig, attribute) = (&function.sig, entry.attribute());
    if sig.asyncness.is_none() {
        let message = format!("{attribute} needs an `async fn`; add `async`");
        return Err(Error::new(sig.fn_token.span(), message));
    }
    if !sig.inputs.is_empty() {
        let message = format!("{attribute}: the function cannot have arguments");
        return Err(Error::new(sig.inputs.span(), message));
    }
    if !sig.generics.params.is_empty() {
        let message = format!("{attribute}: the function cannot be generic");
        return Err(Error::new(sig.generics.span(), message));
    }
    Ok(())
}

/// The options of the attribute.
#[derive(Default)]
struct Options {
    procs: Option<Expr>,
    /// The variant of `PanicPolicy`.
    panic: Option<Ident>,
    name: Option<String>,
    /// For a test only.
    deadlock_after: Option<Duration>,
    /// The word `tokio`.
    tokio: Option<Ident>,
    krate: Option<Path>,
}

/// `key = value`, or the word `tokio`.
struct Pair {
    key: Ident,
    value: Option<Expr>,
}

/// The option that has no value.
const TOKIO: &str = "tokio";

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        let equals = input.parse::<Option<Token![=]>>()?;
        if key == TOKIO {
            return match equals {
                None => Ok(Self { key, value: None }),
                Some(_) => Err(Error::new(key.span(), "`tokio` takes no value")),
            };
        }
        if equals.is_none() || input.is_empty() {
            let message = format!("expected a value: `{key} = …`");
            return Err(Error::new(key.span(), message));
        }
        Ok(Self { key, value: Some(input.parse()?) })
    }
}

impl Options {
    fn parse(entry: Entry, tokens: TokenStream) -> Result<Self> {
        let pairs = Punctuated::<Pair, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut options = Self::default();
        let mut seen = Vec::new();
        for Pair { key, value } in pairs {
            if seen.contains(&key) {
                return Err(Error::new(key.span(), format!("option `{key}` is given twice")));
            }
            match value {
                Some(value) => options.set(entry, &key, value)?,
                None => options.tokio = Some(key.clone()),
            }
            seen.push(key);
        }
        Ok(options)
    }

    fn set(&mut self, entry: Entry, key: &Ident, value: Expr) -> Result<()> {
        match key.to_string().as_str() {
            "deadlock_after" if entry == Entry::Test => {
                self.deadlock_after = Some(seconds(&value, "deadlock_after")?);
            }
            "max_procs" => self.procs = Some(procs(value)?),
            "panic" => self.panic = Some(panic_policy(&value)?),
            "name" => self.name = Some(text(&value, "name")?),
            "crate" => self.krate = Some(syn::parse_str(&text(&value, "crate")?)?),
            _ => {
                let options = match entry {
                    Entry::Main => "`max_procs`, `panic`, `name`, `tokio` and `crate`",
                    Entry::Test => {
                        "`max_procs`, `panic`, `name`, `tokio`, `deadlock_after` and `crate`"
                    }
                };
                let message = format!("unknown option `{key}`; the options are {options}");
                return Err(Error::new(key.span(), message));
            }
        }
        Ok(())
    }

    /// Returns the expression that configures the runtime.
    fn builder(&self, gmp: &Path) -> TokenStream {
        let procs = self.procs.as_ref().map(|procs| quote!(.max_procs(#procs)));
        let name = self.name.as_ref().map(|name| quote!(.name(#name)));
        let panic =
            self.panic.as_ref().map(|it| quote!(.panic_policy(#gmp::runtime::PanicPolicy::#it)));
        let builder = quote!(#gmp::runtime::Builder::new()#procs #name #panic);
        match &self.tokio {
            Some(tokio) => quote!(#gmp::__with_tokio!(#tokio #builder)),
            None => builder,
        }
    }

    /// Returns the expression for the time after which a test fails whose goroutines are parked.
    fn deadlock_after(&self, gmp: &Path) -> TokenStream {
        match self.deadlock_after {
            None => quote!(#gmp::__entry::DEADLOCK_AFTER),
            Some(after) => {
                let (seconds, nanos) = (after.as_secs(), after.subsec_nanos());
                quote!(::core::time::Duration::new(#seconds, #nanos))
            }
        }
    }
}

/// Checks the number of procs. A literal must be at least 1. Other expressions are checked at run
/// time.
fn procs(value: Expr) -> Result<Expr> {
    if let Expr::Lit(ExprLit { lit, .. }) = &value {
        let number = match lit {
            Lit::Int(number) => number.base10_parse::<usize>()?,
            _ => return Err(Error::new(lit.span(), "`max_procs` must be a number")),
        };
        if number == 0 {
            return Err(Error::new(lit.span(), "`max_procs` must be at least 1"));
        }
    }
    Ok(value)
}

/// Returns the variant of `PanicPolicy`.
fn panic_policy(value: &Expr) -> Result<Ident> {
    let variant = match text(value, "panic")?.as_str() {
        "abort" => "Abort",
        "contain" => "Contain",
        _ => return Err(Error::new(value.span(), "`panic` must be \"abort\" or \"contain\"")),
    };
    Ok(Ident::new(variant, value.span()))
}

/// Returns a number of seconds: a literal that is an integer or has a fraction.
fn seconds(value: &Expr, key: &str) -> Result<Duration> {
    let seconds = match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<f64>().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse::<f64>().ok(),
        _ => None,
    };
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| {
        Error::new(value.span(), format!("`{key}` must be a number of seconds, such as 30 or 0.5"))
    })
}

fn text(value: &Expr, key: &str) -> Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        _ => Err(Error::new(value.span(), format!("`{key}` must be a string literal"))),
    }
}

/// Returns the compile error for the option `tokio` if the feature is off. The first token is the
/// option.
pub(crate) fn without_tokio(option: TokenStream) -> TokenStream {
    let span = option.into_iter().next().map_or_else(Span::call_site, |option| option.span());
    Error::new(span, "enable feature `tokio` of gmp to use `tokio`").to_compile_error()
}
