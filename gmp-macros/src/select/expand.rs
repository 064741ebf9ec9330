//! The expansion of `select!`.
//!
//! It pins each case where it is made, makes a list of references to the cases, and awaits the
//! choice. It moves the output of the chosen case into an enum, and drops all cases. Then a `match`
//! on the enum runs the body. So a body may use what the cases borrowed, and `break`, `return` and
//! `?` have their usual meaning in it.
//!
//! Each case is the scrutinee of a `match` around the next one. So the temporaries of its
//! expression live until the choice is made. A case is moved at most once, because it contains the
//! state of a wait and is large.
//!
//! If a pattern may not match, the choice is in a loop. An output that does not match is dropped,
//! and its case is disabled. The output is compared by an arm whose guard is always false: its
//! bindings move nothing.

use super::operation::Operation;
use super::pattern::Coverage;
use super::{Case, Select, hidden};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Expr, Pat, Path};

impl Case {
    /// Whether a pattern that does not match disables the case.
    fn may_fail(&self) -> bool {
        self.coverage != Coverage::All
    }

    /// Pins the case and binds `name` to it in `inner`.
    fn pinned(&self, home: &Path, name: &Ident, inner: &TokenStream) -> TokenStream {
        let started = hidden("started");
        let case = self.operation.case(home, &started);
        let some = quote!(::core::option::Option::Some);
        let pin =
            |case: TokenStream| quote!(match ::core::pin::pin!(#case) { #name => { #inner } });
        let Some(guard) = &self.guard else {
            let case = match self.may_fail() {
                true => quote!(#home::Guarded::new(#some(#case))),
                false => case,
            };
            return self.operation.started(home, &started, &pin(case));
        };
        let case = self.operation.started(home, &started, &case);
        let guarded = hidden("guarded");
        let pinned = pin(quote!(#guarded));
        quote! {
            match #home::Guarded::new(if #guard {
                #some(#case)
            } else {
                ::core::option::Option::None
            }) {
                #guarded => #pinned,
            }
        }
    }

    /// Returns the arm that takes the output of this case, which is `place` in the list.
    fn taken(&self, select: &Select, output: &TokenStream, place: &TokenStream) -> TokenStream {
        let home = &select.home;
        if !select.may_repeat() {
            return quote!(#output(#place.output()));
        }
        if !self.may_fail() {
            return quote!(break #output(#place.output()));
        }
        let [value, matches] = ["value", "matches"].map(hidden);
        let pattern = &self.pattern;
        let compare = |shown: TokenStream| {
            quote! {
                let mut #matches = false;
                #[allow(clippy::allow_attributes, unused_mut, unused_variables)]
                let () = match #shown {
                    #pattern if #home::note_match(&mut #matches) => ::core::unreachable!(),
                    _ => (),
                };
                if #matches {
                    break #output(#value);
                }
            }
        };
        let check = match &self.operation {
            Operation::Await(_) => {
                let compare = compare(quote!(#value));
                quote!({ let #value = #place.output(); #compare })
            }
            Operation::Send { .. } => {
                let compare = compare(quote!(#value.shown));
                quote! {
                    if let ::core::option::Option::Some(#value) =
                        #home::SendOutput::open(#place.output())
                    {
                        #compare
                    }
                }
            }
        };
        quote!({ #check #place.disable(); })
    }

    /// Returns the body, with the pattern bound to the output of the chosen case.
    fn run(&self, home: &Path, held: &Ident) -> TokenStream {
        let result = self.operation.result(home, held);
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
        if !self.may_fail() {
            return quote!({ let #pattern = #result; #body });
        }
        let result_name = hidden("result");
        quote!({
            let #result_name = #result;
            #[allow(clippy::allow_attributes, irrefutable_let_patterns)]
            let #pattern = #result_name else { ::core::unreachable!() };
            #body
        })
    }
}

impl Select {
    /// Whether a case may be disabled after it was chosen, so that the select chooses again.
    fn may_repeat(&self) -> bool {
        self.cases.iter().any(Case::may_fail)
    }

    /// Pins the cases, and runs `inner` with `list` bound to the list of them.
    fn with_list(&self, list: &Ident, inner: &TokenStream) -> TokenStream {
        let (home, is_biased) = (&self.home, self.is_biased);
        let names: Vec<Ident> =
            (0..self.cases.len()).map(|n| hidden(&format!("case{n}"))).collect();
        let cases = names.iter().rev().fold(
            quote!(#home::Nil::<#is_biased>),
            |tail, case| quote!(#home::Cons::new(#case, #tail)),
        );
        let inner = quote!(let mut #list = #cases; #inner);
        self.cases
            .iter()
            .zip(&names)
            .rev()
            .fold(inner, |inner, (case, name)| case.pinned(home, name, &inner))
    }

    /// Returns the expression that chooses among the cases of `list`. Its value is the enum `out`.
    fn choice(&self, list: &Ident, out: &Ident, names: &[Ident]) -> TokenStream {
        let home = &self.home;
        let cases = hidden("cases");
        let mut place = quote!(#list);
        let mut arms = Vec::new();
        for (n, (case, name)) in self.cases.iter().zip(names).enumerate() {
            let taken = case.taken(self, &quote!(#out::#name), &place);
            arms.push(quote!(#home::Chosen::Case(#n) => #taken,));
            place = quote!(#place.tail());
        }
        let exit = self.may_repeat().then(|| quote!(break));
        let (will, rest) = match &self.default {
            Some(_) => (quote!(GoOn), quote!(#exit #out::Default)),
            None => (quote!(Wait), quote!(::core::unreachable!())),
        };
        let choose = quote! {{
            let #cases = ::core::pin::Pin::new(&mut #list);
            match #home::choose(#cases, #home::Will::#will).await {
                #(#arms)*
                _ => #rest,
            }
        }};
        let choose = match &self.other {
            Some(_) => quote! {
                if #home::is_disabled(&#list) { #exit #out::Else } else #choose
            },
            None => choose,
        };
        match self.may_repeat() {
            true => quote!(loop { #choose }),
            false => choose,
        }
    }

    pub(super) fn expand(&self) -> TokenStream {
        let home = &self.home;
        if self.is_empty() {
            return quote!(match #home::forever().await {});
        }
        let out = format_ident!("__GmpSelected");
        let [list, value, selected] = ["list", "value", "selected"].map(hidden);
        let names: Vec<Ident> = (0..self.cases.len()).map(|n| format_ident!("Case{n}")).collect();
        let held = self.cases.iter().zip(&names).map(|(case, name)| {
            let held = case.operation.held(home, &value);
            quote!(#out::#name(#value) => #out::#name(#held))
        });
        let bodies = self.cases.iter().zip(&names).map(|(case, name)| {
            let run = case.run(home, &value);
            quote!(#out::#name(#value) => #run)
        });
        let fallbacks = [("Default", &self.default), ("Else", &self.other)];
        let fallbacks = fallbacks
            .into_iter()
            .filter_map(|(name, body)| body.as_ref().map(|body| (format_ident!("{name}"), body)));
        let (fallback_names, fallback_bodies): (Vec<_>, Vec<_>) = fallbacks.unzip();
        let choice = self.choice(&list, &out, &names);
        let choice = self.with_list(&list, &quote!(#selected = #choice;));
        quote! {{
            #[allow(clippy::allow_attributes, non_camel_case_types)]
            enum #out<#(#names),*> { #(#names(#names),)* #(#fallback_names,)* }
            match {
                // A variable, not the value of the block: rustc does not drop such a value if the
                // drop of another case panics.
                let #selected;
                #choice
                match #selected {
                    #(#held,)*
                    #(#out::#fallback_names => #out::#fallback_names,)*
                }
            } {
                #(#bodies)*
                #(#out::#fallback_names => #fallback_bodies,)*
            }
        }}
    }
}
