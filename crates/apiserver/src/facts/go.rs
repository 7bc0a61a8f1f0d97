//! How Go encodes fields, where that does not follow from the tables of fields (`go.list`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Field, FieldKind, Scalar};

/// How Go encodes the zero value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zero {
    /// Written, even if the field is absent.
    Always,
    /// A pointer that is written as null if the field is absent.
    Null,
    /// Written if it was given, because the field is a pointer.
    IfGiven,
    /// Omitted.
    Never,
}

/// The encoding of a field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Encoding {
    /// `None` if it follows from the tables.
    pub(crate) zero: Option<Zero>,
    /// The named string type of the field, or of the elements of its list.
    pub(crate) named: Option<&'static str>,
}

/// Encodings by field, of one type.
type Fields = BTreeMap<&'static str, Encoding>;

/// The encoding of a field of a type; `group` is the first word of its API group.
pub(crate) fn encoding(group: &str, version: &str, type_name: &str, field: &str) -> Encoding {
    static TABLE: LazyLock<BTreeMap<&str, Fields>> = LazyLock::new(|| parse(include_str!("go.list")));
    let name = format!("{group}.{version}.{type_name}");
    TABLE.get(&*name).and_then(|fields| fields.get(field)).copied().unwrap_or_default()
}

/// How Go encodes the zero value of a field of a type, which has a group, a version and a name.
pub(super) fn zero((group, version, owner): (&str, &str, &str), field: &Field) -> Zero {
    let listed = encoding(group, version, owner, field.name).zero;
    listed.unwrap_or(match &field.kind {
        _ if field.required => Zero::Always,
        FieldKind::Scalar(Scalar::String) | FieldKind::List(_) | FieldKind::Map(_) => Zero::Never,
        FieldKind::Scalar(_) | FieldKind::Struct(_) => Zero::IfGiven,
    })
}

fn parse(text: &'static str) -> BTreeMap<&'static str, Fields> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let (name, fields) = line.split_once(' ')?;
        Some((name, fields.split(' ').map(read_field).collect()))
    })
    .collect()
}

fn read_field(word: &'static str) -> (&'static str, Encoding) {
    let (head, named) = match word.split_once('=') {
        Some((head, named)) => (head, Some(named)),
        None => (word, None),
    };
    let mark = head.chars().next_back().and_then(|mark| match mark {
        '!' => Some(Zero::Always),
        '*' => Some(Zero::Null),
        '?' => Some(Zero::IfGiven),
        '-' => Some(Zero::Never),
        _ => None,
    });
    let name = if mark.is_some() { &head[..head.len() - 1] } else { head };
    (name, Encoding { zero: mark, named: named.map(|name| name.trim_start_matches("[]")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::types;

    #[test]
    fn marks_and_types_are_read() {
        let pull = encoding("core", "v1", "Container", "imagePullPolicy");
        assert_eq!((pull.zero, pull.named), (None, Some("v1.PullPolicy")));
        let modes = encoding("core", "v1", "PersistentVolumeSpec", "accessModes");
        assert_eq!((modes.zero, modes.named), (None, Some("v1.PersistentVolumeAccessMode")));
        assert_eq!(encoding("apps", "v1", "DeploymentSpec", "selector").zero, Some(Zero::Null));
        assert_eq!(encoding("core", "v1", "NodeSpec", "unschedulable").zero, Some(Zero::Never));
    }

    #[test]
    fn every_line_is_about_fields_of_the_tables() {
        for (name, fields) in parse(include_str!("go.list")) {
            let parts: Vec<&str> = name.split('.').collect();
            let [group, version, type_name] = parts[..] else { panic!("{name}") };
            let id = types().find(group, version, type_name).unwrap_or_else(|| panic!("{name}"));
            let known = types().fields(id);
            for field in fields.into_keys() {
                assert!(known.iter().any(|known| known.name == field), "{name} {field}");
            }
        }
    }
}
