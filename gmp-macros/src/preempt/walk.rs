//! Finds the loops of async code, innermost first, and rewrites them with [`Site`].
//!
//! A loop is in async code if the innermost function, closure, async block or const block around it
//! is async. Macro calls stay unchanged, because the meaning of their tokens is unknown.

use super::loops::Site;
use super::scalars::Scalars;
use super::{cheap, is_preemptible};
use proc_macro2::Ident;
use std::mem;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Expr, FnArg, Path, Stmt};

/// The code around the visited place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Async,
    Other,
}

/// The walk over one item or block.
pub(super) struct Walk<'a> {
    /// The path of the run-time half.
    home: &'a Path,
    code: Code,
    /// The scalars of the async body around the visited place.
    scalars: Scalars,
    /// The scalars that are in scope, innermost block last.
    scopes: Vec<Vec<Ident>>,
    /// The number of rewritten loops. It numbers their labels.
    loops: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(home: &'a Path) -> Self {
        let (scalars, scopes) = (Scalars::default(), Vec::new());
        Self { home, code: Code::Other, scalars, scopes, loops: 0 }
    }

    /// Walks over a function, a closure or a block, which has its own scalars.
    fn enter(&mut self, code: Code, scalars: Scalars, walk: impl FnOnce(&mut Self)) {
        let scopes = vec![scalars.arguments().to_vec()];
        let outer = (
            mem::replace(&mut self.code, code),
            mem::replace(&mut self.scalars, scalars),
            mem::replace(&mut self.scopes, scopes),
        );
        walk(self);
        (self.code, self.scalars, self.scopes) = outer;
    }

    fn enter_function(&mut self, sig: &syn::Signature, block: &mut Block) {
        let (code, scalars) = match sig.asyncness {
            Some(_) => (Code::Async, Scalars::of_function(&sig.inputs, block)),
            None => (Code::Other, Scalars::default()),
        };
        self.enter(code, scalars, |walk| walk.visit_block_mut(block));
    }

    /// Rewrites a loop in async code whose inner loops are rewritten already.
    fn rewrite(&mut self, expression: &mut Expr) {
        let is_loop = matches!(expression, Expr::ForLoop(_) | Expr::Loop(_) | Expr::While(_));
        if !is_loop || cheap::is_short(expression) {
            return;
        }
        let saved = self.scopes.concat();
        self.loops += 1;
        Site::new(self.home, self.loops, saved).rewrite(expression);
    }
}

impl VisitMut for Walk<'_> {
    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        drop_attribute(&mut function.attrs);
        self.enter_function(&function.sig, &mut function.block);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        drop_attribute(&mut function.attrs);
        self.enter_function(&function.sig, &mut function.block);
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        drop_attribute(&mut function.attrs);
        if let Some(block) = &mut function.default {
            self.enter_function(&function.sig, block);
        }
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        drop_attribute(&mut item.attrs);
        visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        drop_attribute(&mut item.attrs);
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        drop_attribute(&mut item.attrs);
        visit_mut::visit_item_mod_mut(self, item);
    }

    fn visit_expr_async_mut(&mut self, block: &mut syn::ExprAsync) {
        let scalars = Scalars::of_block(&block.block);
        self.enter(Code::Async, scalars, |walk| walk.visit_block_mut(&mut block.block));
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let (code, scalars) = match closure.asyncness {
            Some(_) => (Code::Async, Scalars::of_expression(&closure.body)),
            None => (Code::Other, Scalars::default()),
        };
        self.enter(code, scalars, |walk| walk.visit_expr_mut(&mut closure.body));
    }

    fn visit_expr_const_mut(&mut self, block: &mut syn::ExprConst) {
        self.enter(Code::Other, Scalars::default(), |walk| {
            walk.visit_block_mut(&mut block.block);
        });
    }

    fn visit_expr_repeat_mut(&mut self, array: &mut syn::ExprRepeat) {
        // The length is a constant.
        self.visit_expr_mut(&mut array.expr);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.scopes.push(Vec::new());
        for statement in &mut block.stmts {
            self.visit_stmt_mut(statement);
            if let Stmt::Local(local) = statement
                && let Some(scope) = self.scopes.last_mut()
            {
                scope.extend(self.scalars.declared_by(local));
            }
        }
        self.scopes.pop();
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        if self.code == Code::Async {
            self.rewrite(expression);
        }
    }

    // Constants, and nodes without code.
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
    fn visit_fn_arg_mut(&mut self, _: &mut FnArg) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
    fn visit_generics_mut(&mut self, _: &mut syn::Generics) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_macro_mut(&mut self, _: &mut syn::Macro) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
    fn visit_path_mut(&mut self, _: &mut Path) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
}

/// Removes the attribute from an item that already gets the checks, from itself or an outer item.
fn drop_attribute(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| !is_preemptible(attribute));
}
