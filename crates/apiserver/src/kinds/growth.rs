//! The work of validation grows with the size of an object, and not with its square: every list of every kind is filled with
//! elements, and then with twice as many.
//!
//! A step is a look at the text or the elements of a value, with which validation compares lists.

use serde_json::{Value, json};

use windtunnel_core::Resource;

use super::validation::{check, steps, warnings};
use crate::facts::{FieldKind, Scalar, TypeId, types};
use crate::kinds::{Kind, builtin};
use crate::profile::Profile;

/// A step of the way from a kind to a list of it.
#[derive(Debug, Clone)]
enum Part {
    Field(&'static str),
    /// The only element of a list, or the only value of a map.
    Only,
}

/// The number of elements of the smaller list.
const COUNT: usize = 80;

/// The ways to all lists and maps of a type, with the kinds of their elements.
fn lists(id: TypeId, seen: &mut Vec<TypeId>, way: &[Part], found: &mut Vec<(Vec<Part>, FieldKind)>) {
    if seen.contains(&id) || way.len() > 14 {
        return;
    }
    seen.push(id);
    for field in types().fields(id) {
        let way = [way, &[Part::Field(field.name)]].concat();
        inside(&field.kind, seen, &way, found);
    }
    seen.pop();
}

fn inside(kind: &FieldKind, seen: &mut Vec<TypeId>, way: &[Part], found: &mut Vec<(Vec<Part>, FieldKind)>) {
    match kind {
        FieldKind::Struct(id) => lists(*id, seen, way, found),
        FieldKind::List(inner) | FieldKind::Map(inner) => {
            found.push((way.to_vec(), kind.clone()));
            inside(inner, seen, &[way, &[Part::Only]].concat(), found);
        }
        FieldKind::Scalar(_) => {}
    }
}

/// A value of a kind; those of different numbers differ.
fn value(kind: &FieldKind, number: usize, depth: usize) -> Value {
    match kind {
        FieldKind::Scalar(Scalar::Bool) => json!(true),
        FieldKind::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString) => json!(number % 60_000 + 1),
        FieldKind::Scalar(_) => json!(format!("a{number}")),
        FieldKind::List(_) => json!([]),
        FieldKind::Map(_) => json!({}),
        FieldKind::Struct(_) if depth == 0 => json!({}),
        FieldKind::Struct(id) => {
            let fields = types().fields(*id).into_iter().filter(|field| {
                field.required
                    || ["name", "key", "type", "mountPath", "devicePath", "containerPort"]
                        .contains(&field.name)
            });
            fields.map(|field| (field.name.to_owned(), value(&field.kind, number, depth - 1))).collect()
        }
    }
}

/// The list or map at the end of a way, with this many elements.
fn filled(kind: &FieldKind, count: usize) -> Value {
    match kind {
        FieldKind::List(inner) => (0..count).map(|number| value(inner, number, 3)).collect(),
        FieldKind::Map(inner) => {
            (0..count).map(|number| (format!("k{number}"), value(inner, number, 3))).collect()
        }
        _ => Value::Null,
    }
}

/// An object of a kind with a value at the end of a way.
fn object(way: &[Part], kind: &FieldKind, full: Value) -> Value {
    let Some((first, rest)) = way.split_first() else { return full };
    match (first, kind) {
        (Part::Field(name), FieldKind::Struct(id)) => {
            let Some(field) = types().field(*id, name) else { return Value::Null };
            json!({ *name: object(rest, &field.kind, full) })
        }
        (Part::Only, FieldKind::List(inner)) => json!([object(rest, inner, full)]),
        (Part::Only, FieldKind::Map(inner)) => json!({ "k": object(rest, inner, full) }),
        _ => Value::Null,
    }
}

/// The number of steps of the validation of an object, and of its warnings.
fn work(kind: &Kind, object: &Value) -> u64 {
    let profile = Profile::of(36, false);
    let before = steps::count();
    check(kind, object, None, None, &profile);
    warnings(kind, object, None, &profile);
    steps::count() - before
}

#[test]
fn twice_as_many_elements_of_any_list_cause_about_twice_as_many_steps() {
    let (mut checked, mut wrong) = (0, Vec::new());
    let kinds = builtin::all(|| 0).into_iter().filter(|kind| kind.validators.is_some());
    for kind in kinds {
        let Resource { group, version, kind: name, .. } = &kind.resource;
        let group = if group.is_empty() { "core" } else { group.split('.').next().unwrap_or_default() };
        let Some(id) = types().find(group, version, name) else { continue };
        let mut found = Vec::new();
        lists(id, &mut Vec::new(), &[], &mut found);
        for (way, list) in found {
            let build = |count| object(&way, &FieldKind::Struct(id), filled(&list, count));
            let (few, many) = (work(&kind, &build(COUNT)), work(&kind, &build(2 * COUNT)));
            if many > few * 5 / 2 + 50 {
                wrong.push(format!("{name} {way:?}: {few} and {many} steps"));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 1500, "{checked} lists");
}
