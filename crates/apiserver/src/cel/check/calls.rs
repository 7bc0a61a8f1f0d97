//! Resolves a call to the overloads of its function that fit the argument types.

use std::sync::Arc;

use super::{Checker, is_function};
use crate::cel::expression_error::ExpressionError;
use crate::cel::library::{self, Function};
use crate::cel::syntax::{Apply, Kind, Node};
use crate::cel::time;
use crate::cel::types::Type;
use crate::gotext::regexp;

/// First minor that rejects literals which always fail at run time (`ASTValidators`).
const LITERALS_CHECKED: u32 = 29;

impl Checker<'_> {
    /// Type-checks a call and replaces it with its resolution.
    pub(super) fn call(&mut self, node: &mut Node) -> Type {
        let Kind::Call { function, target, args } = &mut node.kind else { return Type::Error };
        let (name, at) = (std::mem::take(function), node.at);
        let (mut target, mut args) = (target.take(), std::mem::take(args));
        let mut types: Vec<Type> = args.iter_mut().map(|arg| self.visit(arg)).collect();
        let mut name = name;
        if let Some(qualifier) = target.as_ref().and_then(|target| target.qualified_name()) {
            let qualified = format!("{qualifier}.{name}");
            if is_function(&qualified, self.env) {
                name = qualified;
                target = None;
            }
        }
        let member = target.is_some();
        if let Some(mut target) = target {
            types.insert(0, self.visit(&mut target));
            args.insert(0, *target);
        }
        let known = if is_function(&name, self.env) { library::find(&name) } else { None };
        let Some(function) = known else { return self.undeclared(at, &name) };
        let (result, overloads) = self.resolve(at, function, &types, member);
        let regex = self.check_literals(&name, &args);
        node.kind = Kind::Apply(Apply { function, overloads, args, regex });
        result
    }

    fn resolve(
        &mut self,
        at: usize,
        function: &'static Function,
        types: &[Type],
        member: bool,
    ) -> (Type, Vec<&'static library::Overload>) {
        let mut result: Option<Type> = None;
        let mut overloads = Vec::new();
        let minor = self.env.minor;
        for overload in function.overloads.iter().filter(|o| o.member == member && o.since <= minor) {
            let open: Vec<Type> = (0..overload.open).map(|_| self.mapping.fresh()).collect();
            let params: Vec<Type> = overload.params.iter().map(|param| instantiate(param, &open)).collect();
            if !self.mapping.assign(types, &params) {
                continue;
            }
            overloads.push(overload);
            let found = self.mapping.substitute(&instantiate(&overload.result, &open), false);
            result = Some(match result {
                None => found,
                Some(before) if before.same(&found) => before,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(result) => (result, overloads),
            None => (self.no_overload(at, &function.name, types, member), overloads),
        }
    }

    pub(super) fn no_overload(&mut self, at: usize, function: &str, types: &[Type], member: bool) -> Type {
        let mut types: Vec<String> =
            types.iter().map(|found| self.mapping.substitute(found, true).to_string()).collect();
        let target =
            if member && !types.is_empty() { format!("{}.", types.remove(0)) } else { String::new() };
        let args = types.join(", ");
        self.error(at, format!("found no matching overload for '{function}' applied to '{target}({args})'"))
    }

    /// Rejects literals that always fail at run time, and returns the compiled form of a literal pattern.
    fn check_literals(&mut self, name: &str, args: &[Node]) -> Option<Arc<regex::Regex>> {
        let strict = self.env.minor >= LITERALS_CHECKED;
        match (name, args) {
            ("matches", [_, pattern]) => {
                let text = pattern.literal_text()?;
                match regexp::compile(text) {
                    Ok(regex) => return Some(Arc::new(regex)),
                    Err(_) if strict => {
                        self.literal_issues
                            .push(ExpressionError::new(pattern.at, "invalid matches argument".to_owned()));
                    }
                    Err(_) => {}
                }
            }
            ("duration" | "timestamp", [literal]) if strict => {
                let text = literal.literal_text()?;
                let valid = match name {
                    "duration" => time::go_duration(text).is_some(),
                    _ => time::parse_timestamp(text).is_some(),
                };
                if !valid {
                    self.literal_issues
                        .push(ExpressionError::new(literal.at, format!("invalid {name} argument")));
                }
            }
            _ => {}
        }
        None
    }
}

/// The type with its open parameters replaced by fresh types.
fn instantiate(ty: &Type, open: &[Type]) -> Type {
    match ty {
        Type::Param(number) => {
            usize::try_from(*number).ok().and_then(|at| open.get(at)).cloned().unwrap_or(Type::Dyn)
        }
        other => other.rebuilt(|inner| instantiate(inner, open)),
    }
}
