//! The functions of CEL: their signatures, the minor that introduces them, and their implementations.
//!
//! Each file is a library: a table of rows, and the functions that the rows name.

mod convert;
pub(crate) mod kubernetes;
mod lists;
mod localized;
pub(in crate::cel) mod operators;
mod optional;
mod regex;
mod sets;
pub(crate) mod signature;
mod strings;
pub(crate) mod time;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::Type;
use super::value::{List, Map, Outcome, Value};

pub(crate) use self::lists::sort_by_keys;

/// The implementation of a function. It gets the receiver as first argument; argument types are already
/// checked.
pub(crate) type Run = for<'a> fn(&[Value<'a>]) -> Outcome<'a>;

/// A row of a library: the minor that introduces the function, its signature for [`signature::parse_row`], the
/// function.
pub(crate) type Row = (u32, &'static str, Run);

/// All overloads of a name.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) overloads: Vec<Overload>,
}

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) member: bool,
    /// Types of the arguments, the receiver first.
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    /// Number of type parameters in the signature.
    pub(crate) open: u32,
    /// The minor that introduced it.
    pub(crate) since: u32,
    pub(crate) run: Run,
}

static FUNCTIONS: LazyLock<BTreeMap<String, Function>> = LazyLock::new(|| {
    let tables: [&[Row]; 15] = [
        operators::ROWS,
        convert::ROWS,
        strings::ROWS,
        lists::ROWS,
        regex::ROWS,
        time::ROWS,
        kubernetes::url::ROWS,
        kubernetes::net::ROWS,
        kubernetes::quantity::ROWS,
        kubernetes::semver::ROWS,
        kubernetes::format::ROWS,
        sets::ROWS,
        optional::ROWS,
        kubernetes::authorizer::ROWS,
        kubernetes::json_patch::ROWS,
    ];
    let mut functions: BTreeMap<String, Function> = BTreeMap::new();
    for (name, overload) in tables.iter().flat_map(|rows| rows.iter()).flat_map(signature::parse_row) {
        let new = || Function { name: name.clone(), overloads: Vec::new() };
        functions.entry(name.clone()).or_insert_with(new).overloads.push(overload);
    }
    functions
});

/// Finds a function by name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

impl Overload {
    /// Whether the types of values match the parameters.
    pub(crate) fn takes(&self, args: &[Value<'_>]) -> bool {
        self.params.len() == args.len()
            && self.params.iter().zip(args).all(|(param, arg)| value_has_type(param, arg))
    }
}

fn value_has_type(param: &Type, value: &Value<'_>) -> bool {
    match param {
        Type::Dyn | Type::Any | Type::Param(_) | Type::Error => true,
        Type::Null => matches!(value, Value::Null),
        Type::Bool => matches!(value, Value::Bool(_)),
        Type::Int => matches!(value, Value::Int(_)),
        Type::Uint => matches!(value, Value::Uint(_)),
        Type::Double => matches!(value, Value::Double(_)),
        Type::String => matches!(value, Value::String(_)),
        Type::Bytes => matches!(value, Value::Bytes(_)),
        Type::Timestamp => matches!(value, Value::Timestamp(_)),
        Type::Duration => matches!(value, Value::Duration(_)),
        Type::Type(_) => matches!(value, Value::Type(_)),
        Type::List(items) => match value {
            // The overload for lists of lists takes lists of other values as well.
            Value::List(list) => matches!(**items, Type::List(_)) || first_has_type(items, list),
            _ => false,
        },
        Type::Map(..) | Type::Object(_) => matches!(value, Value::Map(_)),
        Type::Opaque(super::types::OPTIONAL, _) => matches!(value, Value::Optional(_)),
        Type::Opaque(name, _) => match value {
            Value::Opaque(opaque) => opaque.type_name() == *name,
            Value::AuthorizationCheck(inquiry) => inquiry.type_name() == *name,
            _ => false,
        },
    }
}

/// Whether a list has elements of a type, judged by its first.
fn first_has_type(items: &Type, list: &List<'_>) -> bool {
    match list.get(0) {
        Some(Ok(first)) => value_has_type(items, &first),
        Some(Err(_)) | None => true,
    }
}

/// The text of an argument, whose type is already checked.
fn text<'v>(args: &'v [Value<'_>], index: usize) -> &'v str {
    match args.get(index) {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

fn int(args: &[Value<'_>], index: usize) -> i64 {
    match args.get(index) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

fn list<'a>(args: &[Value<'a>], index: usize) -> List<'a> {
    match args.get(index) {
        Some(Value::List(list)) => list.clone(),
        _ => List::Json(&[], None),
    }
}

fn map<'v, 'a>(args: &'v [Value<'a>], index: usize) -> Option<&'v Map<'a>> {
    match args.get(index) {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_parses_and_has_the_minor_that_introduced_it() {
        assert!(FUNCTIONS.len() > 100, "{}", FUNCTIONS.len());
        for (name, since) in
            [("matches", 0), ("quantity", 28), ("sets.contains", 29), ("ip", 27), ("semver", 33)]
        {
            assert_eq!(find(name).unwrap().overloads[0].since, since, "{name}");
        }
    }
}
