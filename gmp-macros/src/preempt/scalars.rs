//! Finds the variables that a pause can copy: integers, floats, `bool` and `char`.
//!
//! A variable that lives across an await is always in memory, so a loop that adds to it waits for
//! the memory. If a copy lives across the await instead, the variable stays in a register.
//!
//! The copy is possible if the variable is mutable, its declaration shows its type, and nothing
//! borrows it. So a variable counts only if its name is bound once in the async body, and is not
//! mentioned by a reference, a closure, an async block, a macro call or an unknown method.

use super::cheap;
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprLit, FnArg, Lit, Local, LocalInit, Macro, Pat, Token, Type, UnOp};

/// The types of scalars.
const SCALAR_TYPES: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
    "u64", "u128", "usize",
];

/// The scalars of an async body.
#[derive(Debug, Default)]
pub(super) struct Scalars {
    names: HashSet<Ident>,
    arguments: Vec<Ident>,
}

impl Scalars {
    pub(super) fn of_function(arguments: &Punctuated<FnArg, Token![,]>, body: &Block) -> Self {
        let mut uses = Uses::default();
        let mut scalars = Vec::new();
        for argument in arguments {
            if let FnArg::Typed(argument) = argument {
                uses.visit_pat(&argument.pat);
                scalars.extend(typed(&argument.pat, &argument.ty));
            }
        }
        uses.visit_block(body);
        let names = uses.copyable();
        scalars.retain(|name| names.contains(name));
        Self { names, arguments: scalars }
    }

    pub(super) fn of_block(body: &Block) -> Self {
        let mut uses = Uses::default();
        uses.visit_block(body);
        Self { names: uses.copyable(), arguments: Vec::new() }
    }

    pub(super) fn of_expression(body: &Expr) -> Self {
        let mut uses = Uses::default();
        uses.visit_expr(body);
        Self { names: uses.copyable(), arguments: Vec::new() }
    }

    /// Returns the scalars among the arguments.
    pub(super) fn arguments(&self) -> &[Ident] {
        &self.arguments
    }

    /// Returns the scalars that a `let` declares.
    pub(super) fn declared_by(&self, local: &Local) -> Vec<Ident> {
        let mut names = Vec::new();
        if let Some(LocalInit { expr, diverge: None, .. }) = &local.init {
            find_scalars(&local.pat, expr, &mut names);
        }
        names.retain(|name| self.names.contains(name));
        names
    }
}

/// Finds the scalars among the variables of a pattern for the value `init`.
fn find_scalars(pat: &Pat, init: &Expr, names: &mut Vec<Ident>) {
    match (pat, init) {
        (Pat::Type(pat), _) => names.extend(typed(&pat.pat, &pat.ty)),
        (Pat::Tuple(pat), Expr::Tuple(init)) if pat.elems.len() == init.elems.len() => {
            for (pat, init) in pat.elems.iter().zip(&init.elems) {
                find_scalars(pat, init, names);
            }
        }
        (pat, init) if is_scalar(init) => names.extend(mutable(pat)),
        _ => {}
    }
}

/// Returns the name of a mutable variable.
fn mutable(pat: &Pat) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            pat.mutability.map(|_| pat.ident.clone())
        }
        _ => None,
    }
}

/// Returns the name of a mutable variable with the type of a scalar.
fn typed(pat: &Pat, ty: &Type) -> Option<Ident> {
    let Type::Path(ty) = ty else { return None };
    let ty = ty.path.get_ident()?;
    mutable(pat).filter(|_| SCALAR_TYPES.iter().any(|known| ty == known))
}

/// Whether an expression is a literal of a scalar, possibly negative.
fn is_scalar(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(ExprLit { lit, .. }) => {
            matches!(lit, Lit::Bool(_) | Lit::Byte(_) | Lit::Char(_) | Lit::Float(_) | Lit::Int(_))
        }
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_scalar(&unary.expr),
        _ => false,
    }
}

/// Returns the name that an expression consists of.
fn name(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Expr::Paren(inner) => name(&inner.expr),
        Expr::Group(inner) => name(&inner.expr),
        _ => None,
    }
}

/// How names are used in an async body.
#[derive(Default)]
struct Uses {
    /// The number of patterns that bind each name.
    bound: HashMap<Ident, usize>,
    /// Names that may be borrowed.
    borrowed: HashSet<String>,
    /// Whether a `ref` pattern borrows a name, which is not known here.
    has_ref: bool,
    /// The number of closures and async blocks around the visited place. They borrow what they
    /// mention.
    captures: usize,
}

impl Uses {
    /// Returns the names that a pause can copy.
    fn copyable(self) -> HashSet<Ident> {
        if self.has_ref {
            return HashSet::new();
        }
        let once = self.bound.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name);
        once.filter(|name| !self.borrowed.contains(&name.to_string())).collect()
    }

    fn borrow(&mut self, name: &Ident) {
        self.borrowed.insert(name.to_string());
    }

    /// Records the words of a macro call as borrowed, also those in its strings: `"{sum}"`.
    fn borrow_words(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => self.borrow(&name),
                TokenTree::Group(group) => self.borrow_words(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    self.borrowed.extend(words.map(str::to_owned));
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Uses {
    fn visit_pat_ident(&mut self, pat: &'a syn::PatIdent) {
        *self.bound.entry(pat.ident.clone()).or_default() += 1;
        self.has_ref |= pat.by_ref.is_some();
        visit::visit_pat_ident(self, pat);
    }

    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        if self.captures > 0
            && let Some(name) = path.path.get_ident()
        {
            self.borrow(name);
        }
    }

    fn visit_expr_reference(&mut self, reference: &'a syn::ExprReference) {
        if let Some(name) = name(&reference.expr) {
            self.borrow(name);
        }
        visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_raw_addr(&mut self, pointer: &'a syn::ExprRawAddr) {
        if let Some(name) = name(&pointer.expr) {
            self.borrow(name);
        }
        visit::visit_expr_raw_addr(self, pointer);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if let Some(name) = name(&call.receiver)
            && !cheap::is_cheap_method(&call.method)
        {
            self.borrow(name);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_closure(&mut self, closure: &'a syn::ExprClosure) {
        self.captures += 1;
        visit::visit_expr_closure(self, closure);
        self.captures -= 1;
    }

    fn visit_expr_async(&mut self, block: &'a syn::ExprAsync) {
        self.captures += 1;
        visit::visit_expr_async(self, block);
        self.captures -= 1;
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.borrow_words(call.tokens.clone());
    }

    fn visit_item(&mut self, _: &'a syn::Item) {}
}
