//! The order of the errors of properties.
//!
//! A real server walks the properties of a schema as a Go map, so the errors of an object's properties come in
//! another order with each request. Those of list items keep their order, and missing fields come last.

use crate::field::{Cause, FieldError};

/// Draws the index of the next property among this many.
type Draw<'d> = &'d mut dyn FnMut(usize) -> usize;

/// Draws the order of errors that are sorted by property.
pub(crate) fn draw(errors: Vec<FieldError>, next: Draw<'_>) -> Vec<FieldError> {
    if errors.len() < 2 { errors } else { arrange(errors, 0, next) }
}

/// Draws the order of errors whose paths have the same first `depth` bytes.
fn arrange(errors: Vec<FieldError>, depth: usize, draw: Draw<'_>) -> Vec<FieldError> {
    // Consecutive errors of the same property or list item.
    let mut groups: Vec<(usize, Vec<FieldError>)> = Vec::new();
    for error in errors {
        let end = depth + step(&error.field[depth..]);
        match groups.last_mut() {
            Some((last, group)) if *last == end && group[0].field[..end] == error.field[..end] => {
                group.push(error);
            }
            _ => groups.push((end, vec![error])),
        }
    }
    let is_property = |(end, group): &(usize, Vec<FieldError>)| {
        let path = &group[0].field;
        let is_missing = *end == path.len() && group.iter().all(|error| error.cause == Cause::Required);
        *end > depth && !is_item(&path[depth..*end]) && !is_missing
    };
    let places: Vec<usize> = (0..groups.len()).filter(|place| is_property(&groups[*place])).collect();
    let mut rest = places.clone();
    let mut drawn: Vec<usize> = (0..groups.len()).collect();
    for place in places {
        let next = if rest.len() == 1 { 0 } else { draw(rest.len()) };
        drawn[place] = rest.remove(next);
    }
    let mut groups: Vec<Option<_>> = groups.into_iter().map(Some).collect();
    let mut arranged = Vec::new();
    for place in drawn {
        let Some((end, group)) = groups[place].take() else { continue };
        arranged.extend(if end > depth && group.len() > 1 { arrange(group, end, draw) } else { group });
    }
    arranged
}

/// The length of the first step of a path: `.name`, `name` or `[key]`.
fn step(path: &str) -> usize {
    if path.starts_with('[') {
        return path.find(']').map_or(path.len(), |end| end + 1);
    }
    // The dot before a name is part of the step.
    let start = usize::from(path.starts_with('.'));
    path[start..].find(['.', '[']).map_or(path.len(), |end| end + start)
}

/// Whether a step is the index of a list.
fn is_item(step: &str) -> bool {
    step.starts_with('[') && step[1..].starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::server::draws::Draws;

    fn texts(seed: u64, fields: &[&str]) -> Vec<String> {
        let error = |field: &&str| match field.strip_prefix('!') {
            Some(field) => FieldError::required(field, ""),
            None => FieldError::new(Cause::NotSupported, *field, json!("x"), ""),
        };
        let errors = fields.iter().map(error).collect();
        let mut draws = Draws::new(seed, 0);
        draw(errors, &mut |count| draws.next_property(count)).into_iter().map(|error| error.field).collect()
    }

    #[test]
    fn properties_come_in_any_order_and_items_in_theirs() {
        let fields =
            ["status.c.e[0]", "status.c.e[3]", "status.c.k[1]", "status.c.k[2]", "status.h", "!status.z"];
        let orders: BTreeSet<_> = (0..40).map(|seed| texts(seed, &fields)).collect();
        assert_eq!(orders.len(), 4, "two orders of `e` and `k`, and `h` before or after them: {orders:#?}");
        for order in &orders {
            let at = |field: &str| order.iter().position(|found| found == field).unwrap();
            assert_eq!(at("status.c.e[0]") + 1, at("status.c.e[3]"));
            assert_eq!(at("status.c.k[1]") + 1, at("status.c.k[2]"));
            assert_eq!(at("status.z"), 5);
        }
        assert_eq!(texts(7, &fields), texts(7, &fields));
    }

    #[test]
    fn errors_without_other_properties_keep_their_order() {
        for fields in [&["a[0]", "a[1]", "a[0]"][..], &["a", "a"], &["", "!b", "!a"], &["é.b", "é.b"]] {
            let expected: Vec<_> = fields.iter().map(|field| field.trim_start_matches('!')).collect();
            assert_eq!(texts(3, fields), expected);
        }
    }
}
