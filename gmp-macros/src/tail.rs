//! Decides from its syntax whether the value of a body can be a future.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Macro, Stmt};

/// Macros that never return.
const DIVERGING_MACROS: [&str; 4] = ["panic", "todo", "unimplemented", "unreachable"];

/// Functions of the standard library that never return.
const DIVERGING_CALLS: [&str; 4] = ["abort", "exit", "panic_any", "resume_unwind"];

/// The value of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It is `()`, or a literal, or the body diverges.
    NoFuture,
    /// Anything: the type decides.
    Value,
}

impl Tail {
    /// The value of a block with these statements.
    pub(crate) fn of(statements: &[Stmt]) -> Self {
        match statements.last() {
            Some(Stmt::Expr(expression, None)) => Self::of_expression(expression),
            Some(Stmt::Macro(statement)) if statement.semi_token.is_none() => {
                Self::of_macro(&statement.mac)
            }
            _ => Self::NoFuture,
        }
    }

    /// The value of `expression`.
    pub(crate) fn of_expression(expression: &Expr) -> Self {
        match expression {
            Expr::Assign(_)
            | Expr::Break(_)
            | Expr::Continue(_)
            | Expr::ForLoop(_)
            | Expr::Lit(_)
            | Expr::Return(_)
            | Expr::While(_) => Self::NoFuture,
            Expr::Loop(repeated) if has_break(repeated.to_token_stream()) => Self::Value,
            Expr::Loop(_) => Self::NoFuture,
            Expr::Block(block) if block.label.is_none() => Self::of(&block.block.stmts),
            Expr::Unsafe(block) => Self::of(&block.block.stmts),
            Expr::If(branch) => match &branch.else_branch {
                None => Self::NoFuture,
                Some((_, other)) => {
                    Self::of(&branch.then_branch.stmts).or(Self::of_expression(other))
                }
            },
            Expr::Match(choice) => choice
                .arms
                .iter()
                .fold(Self::NoFuture, |tail, arm| tail.or(Self::of_expression(&arm.body))),
            Expr::Macro(call) => Self::of_macro(&call.mac),
            Expr::Call(call) => Self::of_call(&call.func),
            Expr::Paren(inner) => Self::of_expression(&inner.expr),
            Expr::Group(inner) => Self::of_expression(&inner.expr),
            _ => Self::Value,
        }
    }

    fn of_macro(call: &Macro) -> Self {
        Self::unless(last_is_one_of(&call.path, &DIVERGING_MACROS))
    }

    fn of_call(function: &Expr) -> Self {
        let diverges = |path| last_is_one_of(path, &DIVERGING_CALLS);
        Self::unless(matches!(function, Expr::Path(function) if diverges(&function.path)))
    }

    fn unless(diverges: bool) -> Self {
        if diverges { Self::NoFuture } else { Self::Value }
    }

    /// The value of one of two branches: one that is a value gives both its type.
    fn or(self, other: Self) -> Self {
        if self == Self::Value { self } else { other }
    }
}

fn last_is_one_of(path: &syn::Path, names: &[&str]) -> bool {
    path.segments.last().is_some_and(|segment| names.iter().any(|name| segment.ident == name))
}

fn has_break(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "break",
        TokenTree::Group(group) => has_break(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::Tail;
    use syn::parse_str;

    #[test]
    fn bodies_without_a_value_are_no_futures() {
        let bodies = [
            "{}",
            "{ f(); }",
            "{ let n = 1; }",
            "{ loop { f(); } }",
            "{ while c { f() } }",
            "{ for n in v { f(n) } }",
            "{ if c { f() } }",
            "{ panic!(\"text\") }",
            "{ std::process::exit(1) }",
            "{ if c { todo!() } else { return 5 } }",
            "{ match c { true => panic!(), false => loop {} } }",
            "{ x = 5 }",
            "(unreachable!())",
        ];
        for body in bodies {
            let parsed = parse_str(body).expect("an expression");
            assert_eq!(Tail::of_expression(&parsed), Tail::NoFuture, "{body}");
        }
    }

    #[test]
    fn all_other_bodies_are_probed() {
        let bodies = [
            "{ f() }",
            "{ async { 1 } }",
            "{ f().await }",
            "{ if c { panic!() } else { f() } }",
            "{ match c { true => return, false => f() } }",
            "{ loop { break f(); } }",
            "{ vec![f()] }",
            "f(1)",
        ];
        for body in bodies {
            let parsed = parse_str(body).expect("an expression");
            assert_eq!(Tail::of_expression(&parsed), Tail::Value, "{body}");
        }
    }
}
