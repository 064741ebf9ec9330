//! Decides by its syntax whether an iteration is cheap: a few instructions, and no unknown call.
//!
//! A cheap iteration of a `for` loop over a range or a slice needs no check of its own. An operator
//! or an index counts as cheap, although a type can overload it.

use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprForLoop, ExprLit, ExprRange, Lit, RangeLimits};

/// The maximum number of iterations without a check, multiplied over nested loops. Chosen.
const SHORT: u64 = 64;

/// Prefixes of the names of methods that cost a few instructions.
const CHEAP_PREFIXES: [&str; 5] =
    ["checked_", "is_ascii_", "overflowing_", "saturating_", "wrapping_"];

/// Names of such methods.
const CHEAP_METHODS: [&str; 32] = [
    "abs",
    "abs_diff",
    "as_bytes",
    "as_slice",
    "clamp",
    "count_ones",
    "count_zeros",
    "div_euclid",
    "get",
    "is_empty",
    "is_negative",
    "is_none",
    "is_positive",
    "is_some",
    "leading_ones",
    "leading_zeros",
    "len",
    "max",
    "min",
    "mul_add",
    "pow",
    "rem_euclid",
    "reverse_bits",
    "rotate_left",
    "rotate_right",
    "signum",
    "sqrt",
    "swap_bytes",
    "to_bits",
    "trailing_ones",
    "trailing_zeros",
    "unsigned_abs",
];

/// Whether a method costs a few instructions, by its name.
pub(super) fn is_cheap_method(name: &syn::Ident) -> bool {
    let name = name.to_string();
    CHEAP_METHODS.contains(&name.as_str())
        || CHEAP_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an iteration with this body is cheap.
pub(super) fn is_cheap(body: &Block) -> bool {
    let mut cost = Cost { is_cheap: true, repeats: 1 };
    cost.visit_block(body);
    cost.is_cheap
}

/// Whether an expression is a `for` loop with a few cheap iterations.
pub(super) fn is_short(expression: &Expr) -> bool {
    let Expr::ForLoop(found) = expression else { return false };
    let mut cost = Cost { is_cheap: true, repeats: 1 };
    cost.visit_expr_for_loop(found);
    cost.is_cheap
}

struct Cost {
    is_cheap: bool,
    /// The product of the iterations of the loops around the visited place.
    repeats: u64,
}

impl<'a> Visit<'a> for Cost {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Async(_)
            | Expr::Await(_)
            | Expr::Loop(_)
            | Expr::Macro(_)
            | Expr::Repeat(_)
            | Expr::While(_) => self.is_cheap = false,
            Expr::Closure(_) => {}
            expression => visit::visit_expr(self, expression),
        }
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        // `Some(n)` is a constructor, not a call.
        let is_constructor = match &*call.func {
            Expr::Path(function) => function.path.segments.last().is_some_and(|last| {
                last.ident.to_string().starts_with(|first: char| first.is_uppercase())
            }),
            _ => false,
        };
        self.is_cheap &= is_constructor;
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.is_cheap &= is_cheap_method(&call.method);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_for_loop(&mut self, found: &'a ExprForLoop) {
        let Some(count) = literal_count(&found.expr) else {
            self.is_cheap = false;
            return;
        };
        let repeats = self.repeats;
        self.repeats = repeats.saturating_mul(count);
        self.is_cheap &= self.repeats <= SHORT;
        self.visit_block(&found.body);
        self.repeats = repeats;
    }

    fn visit_stmt_macro(&mut self, _: &'a syn::StmtMacro) {
        self.is_cheap = false;
    }

    fn visit_item(&mut self, _: &'a syn::Item) {}
}

/// Returns the number of items of a range of literals.
fn literal_count(expression: &Expr) -> Option<u64> {
    let Expr::Range(ExprRange { start: Some(start), end: Some(end), limits, .. }) = expression
    else {
        return None;
    };
    let count = literal(end)?.saturating_sub(literal(start)?);
    Some(match limits {
        RangeLimits::HalfOpen(_) => count,
        RangeLimits::Closed(_) => count.saturating_add(1),
    })
}

fn literal(expression: &Expr) -> Option<u64> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}
