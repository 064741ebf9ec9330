//! The operation of a case: how the expansion makes the case of it, and uses its output.
//!
//! The output of a channel send is its permit. The value is evaluated just before the body, in the
//! same arm. So the compiler knows that the value is moved only if that body runs. Until then the
//! permit is *held*, without a destructor. With a destructor it would borrow the sender to the end
//! of the bodies.
//!
//! A `.send(value)` that is not a channel's is a future. Its value is evaluated when the case is
//! made. The type decides, so the expansion has the value twice: `select/send.rs` of the run-time
//! half explains how the compiler accepts that. A value with a closure, an `async` block or an
//! `.await` cannot be there twice, because each copy has a type of its own. It is that of a
//! channel.

use super::hidden;
use super::pattern::Coverage;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Path};

pub(super) enum Operation {
    /// `sender.send(value)`.
    Send { sender: Box<Expr>, value: Box<Expr>, target: Target },
    /// A receive or any future. The type decides.
    Await(Box<Expr>),
}

/// What `.send(value)` belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A channel.
    Channel,
    /// A channel or something else. The type decides.
    Any,
}

impl Operation {
    pub(super) fn new(expression: Expr, coverage: Coverage) -> Self {
        match expression {
            Expr::Paren(paren) => Self::new(*paren.expr, coverage),
            // An `$operation:expr` of a macro around this one.
            Expr::Group(group) => Self::new(*group.expr, coverage),
            // Whether the output matches is known after the send only. So it is a future, whose
            // value is given away when the select begins.
            Expr::MethodCall(call) if is_send(&call) && coverage != Coverage::Unknown => {
                let ExprMethodCall { receiver: sender, mut args, .. } = call;
                let Some(value) = args.pop() else { return Self::Await(sender) };
                let value = Box::new(value.into_value());
                let target =
                    if Copies::of(&value).is_possible { Target::Any } else { Target::Channel };
                Self::Send { sender, value, target }
            }
            other => Self::Await(Box::new(other)),
        }
    }

    /// Binds `started` in `inner` to what the case is made of. Temporaries of the expression live
    /// as long as the case.
    pub(super) fn started(&self, home: &Path, started: &Ident, inner: &TokenStream) -> TokenStream {
        match self {
            Self::Await(expression) => quote!(match #expression { #started => #inner }),
            Self::Send { sender, target: Target::Channel, .. } => {
                let start = start_channel(sender, home);
                quote!(match #start { #started => #inner })
            }
            Self::Send { sender, value, target: Target::Any } if is_place(sender) => {
                let probe = quote! {
                    if true {
                        #home::SenderProbe::new()
                    } else {
                        #home::never();
                        #home::SenderProbe::of(&#sender)
                    }
                };
                let of_place = spanned("of_place", sender);
                let start =
                    start_any(home, &probe, &quote!(#sender), &quote!(#of_place(&#sender)), value);
                quote!(match #start { #started => #inner })
            }
            Self::Send { sender, value, target: Target::Any } => {
                // Rustc reports no unused `mut` for a name with an underscore.
                let made = hidden("_sender");
                let probe = quote!(#home::SenderProbe::of(&#made));
                let of_value = spanned("of_value", sender);
                let start =
                    start_any(home, &probe, &quote!(#made), &quote!(#of_value(#made)), value);
                // With parentheses of ours, which rustc does not report as unused.
                let sender = without_parentheses(sender);
                quote!(match (#sender) { mut #made => match #start { #started => #inner } })
            }
        }
    }

    /// Returns the case, made of what [`started`](Self::started) has bound.
    pub(super) fn case(&self, home: &Path, started: &Ident) -> TokenStream {
        match self {
            Self::Send { .. } => quote!(#started.case()),
            Self::Await(expression) => {
                let owned = hidden("owned");
                // With the span of the expression, where rustc reports that it is not a future.
                let make = quote_spanned!(expression.span()=> case);
                quote!({
                    use #home::{AsFuture as _, AsRecv as _};
                    let #owned = #started;
                    (&#home::Probe(&#owned)).tag().#make(#owned)
                })
            }
        }
    }

    /// Returns the output in the form in which it outlives the cases.
    pub(super) fn held(&self, home: &Path, output: &Ident) -> TokenStream {
        match self {
            Self::Send { .. } => quote!(#home::SendOutput::hold(#output)),
            Self::Await(_) => quote!(#output),
        }
    }

    /// Returns the value for the pattern of the case, made of the held output.
    pub(super) fn result(&self, home: &Path, held: &Ident) -> TokenStream {
        match self {
            Self::Await(_) => quote!(#held),
            Self::Send { value, target: Target::Channel, .. } => {
                quote!(#held.release().send(#value))
            }
            Self::Send { value, target: Target::Any, .. } => {
                let [value_type, sent] = ["value_type", "sent"].map(hidden);
                quote!({
                    #[allow(clippy::allow_attributes, unreachable_code)]
                    let #sent = if #held.is_channel() {
                        #held.in_channel();
                        let #value_type = #held.value_type();
                        #held.release().send(#home::value_of(#value_type, #value))
                    } else {
                        #held.in_future();
                        #held.output()
                    };
                    #sent
                })
            }
        }
    }
}

/// Returns a name of ours with the span of the expression for which rustc reports what is wrong.
fn spanned(name: &str, expression: &Expr) -> Ident {
    Ident::new(name, expression.span().resolved_at(Span::mixed_site()))
}

/// Starts a send case of a channel.
fn start_channel(sender: &Expr, home: &Path) -> TokenStream {
    if is_place(sender) {
        let reference = quote_spanned!(sender.span()=> &#sender);
        return quote!(#home::ChannelTag.of_place(#reference));
    }
    // The permit outlives the cases and their temporaries. So it may borrow from the target of a
    // temporary reference, but not from the temporary.
    let of_value = spanned("of_value", sender);
    quote!(#home::ChannelTag.#of_value(#sender))
}

/// Starts a send case or a future. `probe` has the type of the sender, `place` is the sender that
/// the future uses, and `channel` is the call that starts a send case.
fn start_any(
    home: &Path,
    probe: &TokenStream,
    place: &TokenStream,
    channel: &TokenStream,
    value: &Expr,
) -> TokenStream {
    let [tag, value_type, start] = ["tag", "value_type", "start"].map(hidden);
    // With the span of the value, where rustc reports that it is not a future.
    let [of_future, future] = ["of_future", "future"].map(|name| spanned(name, value));
    quote!({
        use #home::{IsChannel as _, IsOther as _};
        #[allow(clippy::allow_attributes, unreachable_code)]
        let #start = {
            let #tag = (&#probe).tag();
            if #tag.is_channel() {
                #tag.in_channel();
                #tag.#channel
            } else {
                #tag.in_future();
                let #value_type = #home::ValueType::new();
                let #future = #place.send(#home::value_of(#value_type, #value));
                #tag.#of_future(#future, #value_type)
            }
        };
        #start
    })
}

fn without_parentheses(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(paren) => without_parentheses(&paren.expr),
        other => other,
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

/// Finds out whether two copies of an expression have the same type.
struct Copies {
    is_possible: bool,
}

impl Copies {
    fn of(expression: &Expr) -> Self {
        let mut copies = Self { is_possible: true };
        copies.visit_expr(expression);
        copies
    }
}

impl<'a> Visit<'a> for Copies {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Async(_) | Expr::Await(_) | Expr::Closure(_) => self.is_possible = false,
            other => visit::visit_expr(self, other),
        }
    }
}
