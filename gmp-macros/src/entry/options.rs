//! The options of `#[main]` and `#[test]`.

use super::Entry;
use proc_macro2::TokenStream;
use quote::quote;
use std::time::Duration;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, Lit, Path, Result, Token};

/// The options that both attributes have.
const COMMON: [&str; 5] = ["max_procs", "panic", "name", "tokio", "crate"];

/// The options that a test has besides.
const TEST_ONLY: [&str; 1] = ["deadlock_after"];

/// Options of other runtimes, and what to write instead.
const FOREIGN: [(&str, &str); 9] = [
    ("worker_threads", "; did you mean `max_procs`?"),
    ("procs", "; did you mean `max_procs`?"),
    ("threads", "; did you mean `max_procs`?"),
    ("core_threads", "; did you mean `max_procs`?"),
    ("gomaxprocs", "; did you mean `max_procs`?"),
    ("thread_name", "; did you mean `name`?"),
    ("unhandled_panic", "; did you mean `panic = \"abort\"`?"),
    ("start_paused", "; it is not supported yet"),
    ("flavor", "; remove it: gmp always runs on several threads"),
];

/// The hint for `flavor = "current_thread"`.
const CURRENT_THREAD: &str = "; did you mean `max_procs = 1`?";

/// The options of the attribute.
#[derive(Default)]
pub(super) struct Options {
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
        if input.parse::<Option<Token![=]>>()?.is_none() {
            return Ok(Self { key, value: None });
        }
        if input.is_empty() {
            return Err(Error::new(key.span(), format!("expected a value: `{key} = …`")));
        }
        Ok(Self { key, value: Some(input.parse()?) })
    }
}

impl Options {
    /// Parses the options. After an error it goes on with the next option.
    pub(super) fn parse(entry: Entry, tokens: TokenStream) -> (Self, Option<Error>) {
        let mut options = Self::default();
        let pairs = match Punctuated::<Pair, Token![,]>::parse_terminated.parse2(tokens) {
            Ok(pairs) => pairs,
            Err(error) => return (options, Some(error)),
        };
        let mut seen = Vec::new();
        let mut errors: Option<Error> = None;
        for pair in pairs {
            let key = pair.key.clone();
            let result = match seen.contains(&key) {
                true => Err(Error::new(key.span(), format!("option `{key}` is given twice"))),
                false => options.set(entry, pair),
            };
            if let Err(error) = result {
                match &mut errors {
                    Some(errors) => errors.combine(error),
                    errors => *errors = Some(error),
                }
            }
            seen.push(key);
        }
        (options, errors)
    }

    fn set(&mut self, entry: Entry, Pair { key, value }: Pair) -> Result<()> {
        let name = key.to_string();
        let is_known = COMMON.contains(&name.as_str())
            || entry == Entry::Test && TEST_ONLY.contains(&name.as_str());
        if !is_known {
            return Err(unknown(entry, &key, value.as_ref()));
        }
        if name == TOKIO {
            self.tokio = match value {
                None => Some(key),
                Some(_) => return Err(Error::new(key.span(), "`tokio` takes no value")),
            };
            return Ok(());
        }
        let Some(value) = value else {
            return Err(Error::new(key.span(), format!("expected a value: `{key} = …`")));
        };
        match name.as_str() {
            "max_procs" => self.procs = Some(procs(value)?),
            "panic" => self.panic = Some(panic_policy(&value)?),
            "name" => self.name = Some(text(&value, "name")?),
            "crate" => self.krate = Some(path(value)?),
            _ => self.deadlock_after = Some(seconds(&value, &name)?),
        }
        Ok(())
    }

    /// Returns the path of the facade.
    pub(super) fn gmp(&self) -> Path {
        self.krate.clone().unwrap_or_else(|| syn::parse_quote!(::gmp))
    }

    /// Returns the expression that configures the runtime.
    pub(super) fn builder(&self, gmp: &Path) -> TokenStream {
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
    pub(super) fn deadlock_after(&self, gmp: &Path) -> TokenStream {
        match self.deadlock_after {
            None => quote!(#gmp::__entry::DEADLOCK_AFTER),
            Some(after) => {
                let (seconds, nanos) = (after.as_secs(), after.subsec_nanos());
                quote!(::core::time::Duration::new(#seconds, #nanos))
            }
        }
    }
}

/// Returns the error for an option that does not exist.
fn unknown(entry: Entry, key: &Ident, value: Option<&Expr>) -> Error {
    let is_current_thread = |value| text(value, "flavor").is_ok_and(|it| it == "current_thread");
    let known = FOREIGN.iter().find(|(foreign, _)| key == foreign);
    let hint = match known {
        Some(("flavor", _)) if value.is_some_and(is_current_thread) => CURRENT_THREAD.to_owned(),
        Some((_, hint)) => (*hint).to_owned(),
        None => {
            let test_only = TEST_ONLY.iter().filter(|_| entry == Entry::Test);
            let names: Vec<String> =
                COMMON.iter().chain(test_only).map(|name| format!("`{name}`")).collect();
            let (last, names) = names.split_last().expect("options");
            format!("; the options are {} and {last}", names.join(", "))
        }
    };
    Error::new(key.span(), format!("unknown option `{key}`{hint}"))
}

/// Returns the path of a crate: a path, or a string with one.
fn path(value: Expr) -> Result<Path> {
    match value {
        Expr::Path(path) if path.qself.is_none() => Ok(path.path),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.parse_with(Path::parse_mod_style),
        other => Err(Error::new(other.span(), "`crate` must be a path or a string with a path")),
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
