//! Type checking: finds the types of an expression, rejects mismatches and resolves names (cel-go's
//! `checker`).

mod calls;
pub(super) mod constants;
mod format;
mod literals;
pub(crate) mod variables;

use super::expression_error::ExpressionError;
use super::library;
use super::syntax::{Access, Element, Kind, Literal, Loop, LoopKind, Node};
use super::types::{OPTIONAL, Type};
use super::unify::{Mapping, most_general};
use variables::Variables;

/// The variables, functions and types that an expression may use.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) variables: Variables,
    /// The Kubernetes minor; functions of later minors are unavailable.
    pub(crate) minor: u32,
    /// Whether the expression may construct objects and patches, `Object.spec{}` and `JSONPatch{}`.
    pub(crate) makes_objects: bool,
}

/// Type names of the objects and patches that expressions construct.
pub(crate) const OBJECT: &str = "Object";
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// How the type names of libraries begin that are structs without known fields. The other types of libraries are opaque.
const LIBRARY_STRUCTS: &str = "kubernetes.";

/// Types by their name in expressions, with their name as a value of `type()`.
const TYPES: [(&str, &str, Type); 15] = [
    ("bool", "bool", Type::Bool),
    ("bytes", "bytes", Type::Bytes),
    ("double", "double", Type::Double),
    ("int", "int", Type::Int),
    ("uint", "uint", Type::Uint),
    ("string", "string", Type::String),
    ("list", "list", Type::Dyn),
    ("map", "map", Type::Dyn),
    ("null_type", "null_type", Type::Null),
    ("type", "type", Type::Type(None)),
    (OPTIONAL, OPTIONAL, Type::Dyn),
    ("google.protobuf.Timestamp", "google.protobuf.Timestamp", Type::Timestamp),
    ("google.protobuf.Duration", "google.protobuf.Duration", Type::Duration),
    ("net.IP", "net.IP", Type::Dyn),
    ("net.CIDR", "net.CIDR", Type::Dyn),
];

/// Type-checks an expression and resolves its names. Returns the type of each node, indexed by node id.
///
/// # Errors
/// All mistakes found.
pub(super) fn check(
    node: &mut Node,
    nodes: usize,
    env: &Environment,
) -> Result<Vec<Type>, Vec<ExpressionError>> {
    let mut checker = Checker {
        env,
        errors: Vec::new(),
        literal_issues: Vec::new(),
        types: vec![Type::Dyn; nodes],
        mapping: Mapping::default(),
        locals: Vec::new(),
    };
    checker.visit(node);
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let types: Vec<Type> =
        checker.types.iter().map(|found| checker.mapping.substitute(found, true)).collect();
    let mut errors = checker.literal_issues;
    errors.extend(literals::check(node, &types));
    if errors.is_empty() { Ok(types) } else { Err(errors) }
}

struct Checker<'e> {
    env: &'e Environment,
    errors: Vec<ExpressionError>,
    /// Literals that always fail at run time. They count if there are no other issues.
    literal_issues: Vec<ExpressionError>,
    types: Vec<Type>,
    mapping: Mapping,
    /// Variables of the enclosing macros, the innermost last.
    locals: Vec<(String, Type)>,
}

impl Checker<'_> {
    fn error(&mut self, at: usize, text: String) -> Type {
        self.errors.push(ExpressionError::new(at, text));
        Type::Error
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.error(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn visit(&mut self, node: &mut Node) -> Type {
        let found = self.node(node);
        if let Some(place) = self.types.get_mut(node.id) {
            place.clone_from(&found);
        }
        found
    }

    fn node(&mut self, node: &mut Node) -> Type {
        let at = node.at;
        if matches!(node.kind, Kind::Select { .. } | Kind::Ident(_))
            && let Some(name) = node.qualified_name()
            && let Some((kind, found)) = self.lookup(&name)
        {
            node.kind = kind;
            return found;
        }
        match &mut node.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => {
                let name = name.clone();
                self.undeclared(at, &name)
            }
            Kind::Select { operand, field, how } => {
                let operand = self.visit(operand);
                self.select(at, &operand, field, *how)
            }
            Kind::Call { .. } => self.call(node),
            Kind::And(left, right) | Kind::Or(left, right) => {
                self.expect_bool(left);
                self.expect_bool(right);
                Type::Bool
            }
            Kind::Conditional(parts) => self.conditional(at, parts),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    let key = self.visit(&mut entry.key);
                    keys = Some(self.join(keys, key));
                    let value = self.element(&mut entry.value);
                    values = Some(self.join(values, value));
                }
                let keys = keys.unwrap_or_else(|| self.mapping.fresh());
                Type::map(keys, values.unwrap_or_else(|| self.mapping.fresh()))
            }
            Kind::Message(name, fields) => {
                let name = name.clone();
                for (_, element) in fields {
                    self.visit(&mut element.value);
                }
                match name.as_str() {
                    _ if !self.env.makes_objects => self.undeclared(at, &name),
                    "Object" => Type::Opaque(OBJECT, Vec::new()),
                    "JSONPatch" => Type::Opaque(JSON_PATCH, Vec::new()),
                    part if part.starts_with("Object.") => Type::Dyn,
                    _ => self.undeclared(at, &name),
                }
            }
            Kind::Loop(inner) => self.macro_loop(at, inner),
            Kind::Global(_) | Kind::Local(_) | Kind::TypeName(_) | Kind::Apply(_) => Type::Dyn,
        }
    }

    /// Looks up a variable or a type by name.
    fn lookup(&self, name: &str) -> Option<(Kind, Type)> {
        if let Some(depth) = self.locals.iter().rposition(|(local, _)| local == name) {
            return self.locals.get(depth).map(|(_, ty)| (Kind::Local(depth), ty.clone()));
        }
        // A local variable hides all dotted names that begin with it.
        let first = name.split('.').next().unwrap_or(name);
        if first != name && self.locals.iter().any(|(local, _)| local == first) {
            return None;
        }
        if let Some((number, ty)) = self.env.variables.find(name) {
            return Some((Kind::Global(number), ty.clone()));
        }
        let (_, text, ty) = TYPES.iter().find(|(known, ..)| *known == name)?;
        let ty = Type::Type(Some(std::sync::Arc::new(ty.clone())));
        Some((Kind::TypeName((*text).to_owned()), ty))
    }

    fn expect_bool(&mut self, node: &mut Node) {
        let found = self.visit(node);
        self.expect(node.at, &found, &Type::Bool);
    }

    fn expect(&mut self, at: usize, found: &Type, wanted: &Type) {
        if !self.mapping.assign(std::slice::from_ref(found), std::slice::from_ref(wanted)) {
            self.mismatch(at, wanted, found);
        }
    }

    fn mismatch(&mut self, at: usize, wanted: &Type, found: &Type) -> Type {
        let (wanted, found) = (self.mapping.substitute(wanted, false), self.mapping.substitute(found, false));
        self.error(at, format!("expected type '{wanted}' but found '{found}'"))
    }

    fn select(&mut self, at: usize, operand: &Type, field: &str, how: Access) -> Type {
        let operand = self.mapping.substitute(operand, false);
        let (target, optional) = operand.unwrap_optional();
        let found = match &target {
            Type::Map(_, values) => (**values).clone(),
            Type::Object(decl) => match decl.field(field) {
                Some(decl) => decl.as_type(),
                None => self.error(at, format!("undefined field '{field}'")),
            },
            Type::Param(_) => {
                self.mapping.assign(&[Type::Dyn], std::slice::from_ref(&target));
                Type::Dyn
            }
            other if other.is_dyn_or_error() => Type::Dyn,
            Type::Opaque(name, _) if name.starts_with(LIBRARY_STRUCTS) => {
                self.error(at, format!("unexpected failed resolution of '{name}'"));
                Type::Dyn
            }
            other => {
                self.error(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        match how {
            Access::Presence => Type::Bool,
            Access::Optional => Type::optional(found),
            Access::Value if optional => Type::optional(found),
            Access::Value => found,
        }
    }

    fn conditional(&mut self, at: usize, parts: &mut [Node; 3]) -> Type {
        let types: Vec<Type> = parts.iter_mut().map(|part| self.visit(part)).collect();
        let result = self.mapping.fresh();
        if self.mapping.assign(&types, &[Type::Bool, result.clone(), result.clone()]) {
            return self.mapping.substitute(&result, false);
        }
        self.no_overload(at, "_?_:_", &types, false)
    }

    fn element(&mut self, element: &mut Element) -> Type {
        let found = self.visit(&mut element.value);
        if !element.optional {
            return found;
        }
        let (inner, optional) = found.unwrap_optional();
        if !optional && !found.is_dyn_or_error() {
            self.mismatch(element.value.at, &Type::optional(inner.clone()), &inner);
        }
        inner
    }

    fn list(&mut self, items: &mut [Element]) -> Type {
        let mut joined = None;
        for item in items {
            let found = self.element(item);
            joined = Some(self.join(joined, found));
        }
        Type::list(joined.unwrap_or_else(|| self.mapping.fresh()))
    }

    /// The common type of several elements: `dyn` if they differ. `literals` rejects most lists of mixed
    /// types.
    fn join(&mut self, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else { return found };
        if self.mapping.assign(std::slice::from_ref(&before), std::slice::from_ref(&found)) {
            return most_general(&before, &found);
        }
        Type::Dyn
    }

    fn macro_loop(&mut self, at: usize, inner: &mut Loop) -> Type {
        let since = match (inner.kind, inner.vars.len()) {
            (LoopKind::OptionalMap | LoopKind::OptionalFlatMap, _) => 28,
            (LoopKind::Sort, _) => 34,
            (_, 2) => 32,
            _ => 0,
        };
        if since > self.env.minor {
            let name = "macro of a later version";
            return self.undeclared(at, name);
        }
        let range = self.visit(&mut inner.range);
        let range = self.mapping.substitute(&range, false);
        let vars = self.loop_variables(inner, &range);
        let outer = self.locals.len();
        self.locals.extend(inner.vars.iter().cloned().zip(vars));
        if let Some(filter) = &mut inner.filter {
            self.expect_bool(filter);
        }
        let result = self.loop_result(at, inner, &range);
        self.locals.truncate(outer);
        result
    }

    fn loop_variables(&mut self, inner: &Loop, range: &Type) -> Vec<Type> {
        let optional = matches!(inner.kind, LoopKind::OptionalMap | LoopKind::OptionalFlatMap);
        if optional {
            return match range.unwrap_optional() {
                (ty, true) => vec![ty],
                (ty, false) if ty.is_dyn_or_error() => vec![Type::Dyn],
                (ty, false) => {
                    self.no_overload(inner.range.at, "hasValue", &[ty], true);
                    vec![Type::Error]
                }
            };
        }
        let two = inner.vars.len() == 2;
        match range {
            Type::List(items) if two => vec![Type::Int, (**items).clone()],
            Type::List(items) => vec![(**items).clone()],
            Type::Map(keys, values) if two => vec![(**keys).clone(), (**values).clone()],
            Type::Map(keys, _) => vec![(**keys).clone()],
            Type::Dyn | Type::Error | Type::Param(_) => {
                vec![Type::Dyn; inner.vars.len()]
            }
            other => {
                let why = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.error(inner.range.at, format!("expression of type '{other}' {why}"));
                vec![Type::Error; inner.vars.len()]
            }
        }
    }

    /// The type of a sorted list, whose keys must be comparable.
    fn sorted(&mut self, at: usize, range: &Type, key: &Type) -> Type {
        let comparable = [
            Type::Int,
            Type::Uint,
            Type::Double,
            Type::Bool,
            Type::Duration,
            Type::Timestamp,
            Type::String,
            Type::Bytes,
        ];
        if comparable
            .iter()
            .any(|known| self.mapping.assign(std::slice::from_ref(key), std::slice::from_ref(known)))
        {
            return range.clone();
        }
        self.no_overload(at, "@sortByAssociatedKeys", &[range.clone(), Type::list(key.clone())], true)
    }

    fn loop_result(&mut self, at: usize, inner: &mut Loop, range: &Type) -> Type {
        if matches!(inner.kind, LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne) {
            self.expect_bool(&mut inner.body);
            return Type::Bool;
        }
        let body = self.visit(&mut inner.body);
        match inner.kind {
            LoopKind::Values => match range {
                Type::Map(keys, _) => Type::map((**keys).clone(), body),
                Type::List(_) => Type::map(Type::Int, body),
                _ => Type::map(Type::Dyn, body),
            },
            LoopKind::Sort => self.sorted(at, range, &body),
            LoopKind::OptionalMap => Type::optional(body),
            LoopKind::List => Type::list(body),
            _ => body,
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// Whether any overload of a function is available.
pub(super) fn is_function(name: &str, env: &Environment) -> bool {
    // The helpers for patches are for expressions that may create them.
    if name.starts_with("jsonpatch.") && !env.makes_objects {
        return false;
    }
    library::find(name)
        .is_some_and(|function| function.overloads.iter().any(|overload| overload.since <= env.minor))
}
