//! Lists, sets and maps of a limited size.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, items};

/// Validates each element of a list of at most `most`; a longer list is not read (`validateSlice`).
pub(super) fn each(
    list: &Value,
    most: usize,
    at: Path<'_>,
    errors: &mut Errors<'_>,
    mut check: impl FnMut(&Value, Path<'_>, &mut Errors<'_>),
) {
    let list = items(list);
    if list.len() > most {
        errors.too_many(at, list.len(), most);
        return;
    }
    for (index, one) in list.iter().enumerate() {
        check(one, at.index(index), errors);
    }
}

/// Validates each element of a set of at most `most`, and that no two have the same key (`validateSet`).
pub(super) fn each_unique(
    list: &Value,
    most: usize,
    key: impl Fn(&Value) -> String,
    at: Path<'_>,
    errors: &mut Errors<'_>,
    check: impl FnMut(&Value, Path<'_>, &mut Errors<'_>),
) {
    each(list, most, at, errors, check);
    if items(list).len() > most {
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, one) in items(list).iter().enumerate() {
        let key = key(one);
        if seen.contains(&key) {
            errors.duplicate(at.index(index), key);
        } else {
            seen.insert(key);
        }
    }
}

/// The key of an element that has a field with a text.
pub(super) fn by(field: &'static str) -> impl Fn(&Value) -> String {
    move |one| one[field].as_str().unwrap_or_default().to_owned()
}

/// The key of an element that is a text itself.
pub(super) fn itself(one: &Value) -> String {
    one.as_str().unwrap_or_default().to_owned()
}

/// Validates the keys and the values of a map. Keys longer than `longest` are shortened in paths (`validateMap`).
pub(super) fn entries(
    map: &Value,
    longest: usize,
    at: Path<'_>,
    errors: &mut Errors<'_>,
    key_check: fn(&str, Path<'_>, &mut Errors<'_>),
    mut check: impl FnMut(&Value, Path<'_>, &mut Errors<'_>),
) {
    for (key, value) in map.as_object().into_iter().flatten() {
        key_check(key, at, errors);
        let shown = shortened(key, longest);
        check(value, at.key(&shown), errors);
    }
}

/// A text whose middle is left out if it is too long (`truncateIfTooLong`).
fn shortened(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let left = longest - "...".len();
    let bytes = text.as_bytes();
    let (head, tail) = (&bytes[..left.div_ceil(2)], &bytes[bytes.len() - left / 2..]);
    format!("{}...{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_key_is_left_out() {
        assert_eq!(shortened("abcdefghijklmnopq", 16), "abcdefg...lmnopq");
        assert_eq!(shortened("abc", 16), "abc");
    }
}
