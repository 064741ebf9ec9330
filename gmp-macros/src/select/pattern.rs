//! Decides from its syntax which outputs a pattern matches.

use proc_macro2::Ident;
use syn::{Pat, PatTupleStruct};

/// The outputs that a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// All.
    All,
    /// Each `Ok` and no `Err`, if it is the pattern of a `Result`.
    EachOk,
    /// Unknown. The pattern is compared with the output.
    Unknown,
}

impl Coverage {
    pub(super) fn of(pattern: &Pat) -> Self {
        match pattern {
            pattern if matches_all(pattern) => Self::All,
            Pat::Paren(inner) => Self::of(&inner.pat),
            Pat::TupleStruct(variant) if is_each_ok(variant) => Self::EachOk,
            _ => Self::Unknown,
        }
    }
}

/// Whether a pattern matches each value of its type. In doubt it does not.
fn matches_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) | Pat::Rest(_) => true,
        Pat::Ident(binding) => match &binding.subpat {
            Some((_, inner)) => matches_all(inner),
            None => {
                binding.by_ref.is_some()
                    || binding.mutability.is_some()
                    || is_variable(&binding.ident)
            }
        },
        Pat::Or(either) => either.cases.iter().any(matches_all),
        Pat::Paren(inner) => matches_all(&inner.pat),
        Pat::Reference(inner) => matches_all(&inner.pat),
        Pat::Tuple(tuple) => tuple.elems.iter().all(matches_all),
        Pat::Type(inner) => matches_all(&inner.pat),
        _ => false,
    }
}

/// Whether a name is that of a variable, and not of a constant or of a variant such as `None`.
fn is_variable(name: &Ident) -> bool {
    !name.to_string().trim_start_matches("r#").starts_with(char::is_uppercase)
}

fn is_each_ok(variant: &PatTupleStruct) -> bool {
    let is_ok = variant.path.segments.last().is_some_and(|last| last.ident == "Ok");
    is_ok && variant.elems.iter().all(matches_all)
}

#[cfg(test)]
mod tests {
    use super::Coverage;
    use syn::Pat;
    use syn::parse::Parser;

    #[test]
    fn the_syntax_decides() {
        let known = [
            ("_", Coverage::All),
            ("v", Coverage::All),
            ("mut V", Coverage::All),
            ("ref V", Coverage::All),
            ("r#type", Coverage::All),
            ("(a, (_, ..))", Coverage::All),
            ("&(a, b)", Coverage::All),
            ("all @ (a, b)", Coverage::All),
            ("Ok(v) | v", Coverage::All),
            ("()", Coverage::All),
            ("Ok(())", Coverage::EachOk),
            ("Ok(_)", Coverage::EachOk),
            ("(Ok(v))", Coverage::EachOk),
            ("Result::Ok((a, b))", Coverage::EachOk),
            ("Ok(..)", Coverage::EachOk),
            ("Ok(5)", Coverage::Unknown),
            ("Ok(Some(v))", Coverage::Unknown),
            ("Ok(v) | Err(v)", Coverage::Unknown),
            ("Err(e)", Coverage::Unknown),
            ("None", Coverage::Unknown),
            ("v @ Some(_)", Coverage::Unknown),
            ("Point { x, y }", Coverage::Unknown),
            ("[a, b]", Coverage::Unknown),
            ("1..=3", Coverage::Unknown),
        ];
        for (text, coverage) in known {
            let pattern = Pat::parse_multi_with_leading_vert.parse_str(text).expect("a pattern");
            assert_eq!(Coverage::of(&pattern), coverage, "{text}");
        }
    }
}
