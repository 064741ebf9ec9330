//! `#[main]` and `#[test]`: the expansion.
//!
//! Only the signature of the function is parsed. The body stays a stream of tokens, so that an
//! error in it is rustc's own, and is reported once. An editor completes names in an unfinished
//! body.

mod options;

use self::options::Options;
use crate::preempt;
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Result, ReturnType, Signature, Visibility};

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

/// A function whose body is not parsed.
struct Function {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (vis, sig) = (input.parse()?, input.parse()?);
        match braces(input.parse()?) {
            Ok(body) => Ok(Self { attrs, vis, sig, body }),
            Err(span) => Err(Error::new(span, "expected the body of the function")),
        }
    }
}

/// Returns a group in braces, possibly a `$body:block` of a macro around the attribute. Otherwise
/// returns the place of the error.
fn braces(tree: TokenTree) -> std::result::Result<Group, Span> {
    let span = tree.span();
    match tree {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Ok(body),
        TokenTree::Group(fragment) if fragment.delimiter() == Delimiter::None => {
            fragment.stream().into_iter().next().map_or(Err(span), braces)
        }
        _ => Err(span),
    }
}

/// Returns a function that runs the body on a runtime, with the compile errors.
///
/// If the signature is wrong, the function is empty. It avoids follow-up errors in the rest of the
/// program.
pub(crate) fn expand(entry: Entry, options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let (options, errors) = Options::parse(entry, options);
    let errors =
        [errors, check_signature(entry, &function.sig).err(), check_test(entry, &function)];
    let (has_wrong_signature, errors) = (errors[1].is_some(), errors.into_iter().flatten());
    let errors: TokenStream = errors.map(|error| error.to_compile_error()).collect();
    if has_wrong_signature {
        let name = &function.sig.ident;
        return quote!(#errors fn #name() {});
    }
    let function = expand_function(entry, &options, &function);
    quote!(#errors #function)
}

fn expand_function(entry: Entry, options: &Options, function: &Function) -> TokenStream {
    let gmp = options.gmp();
    let builder = options.builder(&gmp);
    let Function { attrs, vis, sig, body } = function;
    let attrs = attrs.iter().filter(|attribute| entry != Entry::Test || !is_test(attribute));
    // `#[preemptible]` goes to the async function, in any order of the attributes.
    let (preemptible, attrs): (Vec<_>, Vec<_>) =
        attrs.partition(|attribute| preempt::is_preemptible(attribute));
    // The async function has the name of the user's, for errors and for the symbols in profiles.
    let (name, output, condition) = (&sig.ident, &sig.output, &sig.generics.where_clause);
    let (test, call) = match entry {
        Entry::Main => (None, quote!(#gmp::__entry::run_main(#builder, #name()))),
        Entry::Test => {
            let after = options.deadlock_after(&gmp);
            let call = quote!(#gmp::__entry::run_test(#builder, #after, #name()));
            (Some(quote!(#[::core::prelude::v1::test])), call)
        }
    };
    // A function without a result stays one, because `#[should_panic]` requires it.
    let (result, call) = match output {
        ReturnType::Default => (None, quote!(let _: ::std::process::ExitCode = #call;)),
        ReturnType::Type(..) => (Some(quote!(-> ::std::process::ExitCode)), call),
    };
    quote! {
        #test
        #(#attrs)*
        #vis fn #name() #result {
            #(#preemptible)*
            async fn #name() #output #condition #body
            #call
        }
    }
}

fn check_signature(entry: Entry, sig: &Signature) -> Result<()> {
    let attribute = entry.attribute();
    let wrong = |span: Span, text: &str| Err(Error::new(span, format!("{attribute}{text}")));
    let qualifiers = [
        sig.constness.as_ref().map(|it| (it.span(), "const")),
        sig.unsafety.as_ref().map(|it| (it.span(), "unsafe")),
        sig.abi.as_ref().map(|it| (it.extern_token.span(), "extern")),
    ];
    if let Some((span, qualifier)) = qualifiers.into_iter().flatten().next() {
        return wrong(span, &format!(": the function cannot be `{qualifier}`"));
    }
    if sig.asyncness.is_none() {
        return wrong(sig.fn_token.span(), " needs an `async fn`; add `async`");
    }
    if !sig.inputs.is_empty() {
        let hint = match entry {
            Entry::Main => "; use `std::env::args()`",
            Entry::Test => "",
        };
        return wrong(sig.inputs.span(), &format!(": the function cannot have arguments{hint}"));
    }
    if !sig.generics.params.is_empty() {
        return wrong(sig.generics.span(), ": the function cannot be generic");
    }
    Ok(())
}

/// Returns an error if another attribute makes a test of the function, which would run twice.
fn check_test(entry: Entry, function: &Function) -> Option<Error> {
    let test =
        function.attrs.iter().find(|attribute| entry == Entry::Test && is_test(attribute))?;
    Some(Error::new(test.span(), "remove `#[test]`: `#[gmp::test]` adds it"))
}

/// Whether an attribute is std's `#[test]`.
fn is_test(attribute: &Attribute) -> bool {
    let mut path = attribute.path().segments.iter().map(|segment| segment.ident.to_string());
    match path.next().as_deref() {
        Some("test") => path.next().is_none(),
        Some("core" | "std") => path.eq(["prelude", "v1", "test"]),
        _ => false,
    }
}

/// Returns the compile error for the option `tokio` if the feature is off. The first token is the
/// option.
pub(crate) fn without_tokio(option: TokenStream) -> TokenStream {
    let span = option.into_iter().next().map_or_else(Span::call_site, |option| option.span());
    Error::new(span, "enable feature `tokio` of gmp to use `tokio`").to_compile_error()
}
