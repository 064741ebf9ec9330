//! Decides from its syntax whether the value of a body can be a future.
//!
//! A body that diverges has no type that a probe could inspect, so this file must find it. In doubt
//! a body counts as a value. A probe of a diverging body is only a compile error, but a future that
//! is not found would silently not run.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprLoop, Item, Macro, Stmt};

/// Macros that never return.
const DIVERGING_MACROS: [&str; 4] = ["panic", "todo", "unimplemented", "unreachable"];

/// Functions of the standard library that never return, after the module in the path of the call.
const DIVERGING_CALLS: [(&str, &str); 4] =
    [("panic", "panic_any"), ("panic", "resume_unwind"), ("process", "abort"), ("process", "exit")];

/// The value of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The value is `()` or a literal, or the body diverges.
    NoFuture,
    /// Any other value. Its type decides.
    Value,
}

impl Tail {
    /// Returns the value of a body with these statements.
    pub(crate) fn of(statements: &[Stmt]) -> Self {
        let mut returns = Returns(Self::NoFuture);
        statements.iter().for_each(|statement| returns.visit_stmt(statement));
        Self::of_block(statements).or(returns.0)
    }

    /// Returns the value of a body that is one expression.
    pub(crate) fn of_expression(expression: &Expr) -> Self {
        let mut returns = Returns(Self::NoFuture);
        returns.visit_expr(expression);
        Self::of_value(expression).or(returns.0)
    }

    /// Returns the value of a block, without that of `return`.
    fn of_block(statements: &[Stmt]) -> Self {
        match statements.last() {
            Some(Stmt::Expr(expression, None)) => Self::of_value(expression),
            Some(Stmt::Macro(statement)) if statement.semi_token.is_none() => {
                Self::of_macro(&statement.mac)
            }
            _ => Self::NoFuture,
        }
    }

    /// Returns the value of an expression, without that of `return`.
    fn of_value(expression: &Expr) -> Self {
        match expression {
            Expr::Assign(_)
            | Expr::Break(_)
            | Expr::Continue(_)
            | Expr::ForLoop(_)
            | Expr::Lit(_)
            | Expr::Return(_)
            | Expr::While(_) => Self::NoFuture,
            Expr::Loop(repeated) => Self::unless(!has_break(repeated)),
            Expr::Block(block) if block.label.is_none() => Self::of_block(&block.block.stmts),
            Expr::Unsafe(block) => Self::of_block(&block.block.stmts),
            Expr::If(branch) => match &branch.else_branch {
                None => Self::NoFuture,
                Some((_, other)) => {
                    Self::of_block(&branch.then_branch.stmts).or(Self::of_value(other))
                }
            },
            Expr::Match(choice) => choice
                .arms
                .iter()
                .fold(Self::NoFuture, |tail, arm| tail.or(Self::of_value(&arm.body))),
            Expr::Macro(call) => Self::of_macro(&call.mac),
            Expr::Call(call) => Self::of_call(&call.func),
            Expr::Paren(inner) => Self::of_value(&inner.expr),
            Expr::Group(inner) => Self::of_value(&inner.expr),
            _ => Self::Value,
        }
    }

    fn of_macro(call: &Macro) -> Self {
        let name = call.path.segments.last().map(|segment| &segment.ident);
        Self::unless(name.is_some_and(|name| DIVERGING_MACROS.iter().any(|known| name == known)))
    }

    /// Returns the value of a call. A call by a name without a module counts as a value, because it
    /// may be a function of the user.
    fn of_call(function: &Expr) -> Self {
        let Expr::Path(function) = function else { return Self::Value };
        let mut names = function.path.segments.iter().rev().map(|segment| &segment.ident);
        let (Some(name), Some(module)) = (names.next(), names.next()) else { return Self::Value };
        Self::unless(DIVERGING_CALLS.iter().any(|known| module == known.0 && name == known.1))
    }

    fn unless(diverges: bool) -> Self {
        if diverges { Self::NoFuture } else { Self::Value }
    }

    /// Returns the value of two branches. If one of them has a value, its type is that of both.
    fn or(self, other: Self) -> Self {
        if self == Self::Value { self } else { other }
    }
}

/// Finds the values that a body returns by `return`.
struct Returns(Tail);

impl<'a> Visit<'a> for Returns {
    fn visit_expr_return(&mut self, exit: &'a syn::ExprReturn) {
        if let Some(value) = &exit.expr {
            self.0 = self.0.or(Tail::of_value(value));
        }
        visit::visit_expr_return(self, exit);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        if has_return_with_value(call.tokens.clone()) {
            self.0 = Tail::Value;
        }
    }

    fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'a Item) {}
}

/// Whether a loop may end by `break`.
pub(crate) fn has_break(repeated: &ExprLoop) -> bool {
    let label = repeated.label.as_ref().map(|label| &label.name.ident);
    let mut breaks = Breaks { label, nested: 0, found: false };
    visit::visit_block(&mut breaks, &repeated.body);
    breaks.found
}

/// Finds a `break` that ends a given loop.
struct Breaks<'a> {
    label: Option<&'a Ident>,
    /// The number of loops between that loop and the visited place.
    nested: u32,
    found: bool,
}

impl<'a> Visit<'a> for Breaks<'_> {
    fn visit_expr_break(&mut self, exit: &'a syn::ExprBreak) {
        self.found |= match &exit.label {
            None => self.nested == 0,
            Some(label) => self.label == Some(&label.ident),
        };
        visit::visit_expr_break(self, exit);
    }

    fn visit_expr_loop(&mut self, inner: &'a syn::ExprLoop) {
        self.visit_nested(&inner.body);
    }

    fn visit_expr_while(&mut self, inner: &'a syn::ExprWhile) {
        self.visit_expr(&inner.cond);
        self.visit_nested(&inner.body);
    }

    fn visit_expr_for_loop(&mut self, inner: &'a syn::ExprForLoop) {
        self.visit_expr(&inner.expr);
        self.visit_nested(&inner.body);
    }

    /// Visits a macro, which may be a `select!` whose cases break.
    fn visit_macro(&mut self, call: &'a Macro) {
        self.found |= mentions(call.tokens.clone(), "break");
    }

    fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'a Item) {}
}

impl Breaks<'_> {
    fn visit_nested(&mut self, body: &Block) {
        self.nested += 1;
        self.visit_block(body);
        self.nested -= 1;
    }
}

/// Whether the tokens contain a word.
pub(crate) fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Whether the tokens contain a `return` with a value.
fn has_return_with_value(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let found = match token {
            TokenTree::Ident(ident) if ident == "return" => match tokens.peek() {
                None => false,
                Some(TokenTree::Punct(next)) => !matches!(next.as_char(), ';' | ','),
                Some(_) => true,
            },
            TokenTree::Group(group) => has_return_with_value(group.stream()),
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{DIVERGING_MACROS, Tail};
    use syn::parse_str;

    #[test]
    fn bodies_without_a_value_are_no_futures() {
        let bodies = [
            "{}",
            "{ f(); }",
            "{ let n = 1; }",
            "{ loop { f(); } }",
            "{ loop { while c() { break; } w().await; } }",
            "{ loop { for n in v { if n { break } } } }",
            "{ 'outer: loop { loop { break; } } }",
            "{ loop { let f = || loop { break; }; } }",
            "{ loop { return; } }",
            "{ if c { return; } loop { select! { _ = f() => return, } } }",
            "{ while c { f() } }",
            "{ for n in v { f(n) } }",
            "{ if c { f() } }",
            "{ panic!(\"text\") }",
            "{ std::process::exit(1) }",
            "{ match c { true => panic!(), false => loop {} } }",
            "{ x = 5 }",
            "(unreachable!())",
        ];
        let diverging =
            DIVERGING_MACROS.map(|name| format!("{{ if c {{ {name}!() }} else {{ return 5 }} }}"));
        for body in bodies.into_iter().chain(diverging.iter().map(String::as_str)) {
            let parsed = parse_str(body).expect("an expression");
            assert_eq!(Tail::of_expression(&parsed), Tail::NoFuture, "{body}");
        }
    }

    #[test]
    fn bodies_with_a_value_are_probed_for_a_future() {
        let bodies = [
            "{ f() }",
            "{ async { 1 } }",
            "{ f().await }",
            "{ if c { panic!() } else { f() } }",
            "{ match c { true => return, false => f() } }",
            "{ loop { break f(); } }",
            "{ 'outer: loop { loop { break 'outer; } } }",
            "{ loop { select! { _ = f() => break, } } }",
            "{ f(); return g(); }",
            "{ if c { return f(1) } else { return f(2) } }",
            "{ loop { if c { return f(); } } }",
            "{ abort(7) }",
            "{ exit(1) }",
            "{ vec![f()] }",
            "f(1)",
        ];
        for body in bodies {
            let parsed = parse_str(body).expect("an expression");
            assert_eq!(Tail::of_expression(&parsed), Tail::Value, "{body}");
        }
    }
}
