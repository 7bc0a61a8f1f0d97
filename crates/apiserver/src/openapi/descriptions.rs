//! Descriptions of types and fields of built-in kinds, from `descriptions.list` beside the tables of `facts`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::facts::Type;

const LIST: &str = include_str!("../facts/descriptions.list");
/// The section with the fields that every kind has.
const KIND: &str = "kind";
/// The section with fields that mean the same in every type.
const ANY: &str = "any";

/// Descriptions by type and field; the field of a type's own description is empty.
type Texts = BTreeMap<(&'static str, &'static str), &'static str>;

static TEXTS: LazyLock<Texts> = LazyLock::new(|| parse(LIST));

fn parse(list: &'static str) -> Texts {
    let mut texts = Texts::new();
    let mut type_name = "";
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let (name, text) = line.split_once(": ").unwrap_or((line, ""));
        let field = name.strip_prefix("  ");
        if field.is_none() {
            type_name = name;
        }
        if !text.is_empty() {
            texts.insert((type_name, field.unwrap_or("")), text);
        }
    }
    texts
}

/// The description of a type.
pub(super) fn of_type(api_type: &Type) -> Option<&'static str> {
    TEXTS.get(&(full_name(api_type).as_str(), "")).copied()
}

/// The description of a field of a type.
pub(super) fn of_field(api_type: &Type, field: &str) -> Option<String> {
    let full = full_name(api_type);
    let own = TEXTS.get(&(full.as_str(), field));
    let by_rule = || of_every_kind(api_type.name, field).filter(|_| api_type.is_kind);
    let anywhere = || TEXTS.get(&(ANY, field)).map(|text| (*text).to_owned());
    own.map(|text| (*text).to_owned()).or_else(by_rule).or_else(anywhere)
}

/// The description of a field that every kind has.
pub(super) fn of_every_kind(kind: &str, field: &str) -> Option<String> {
    TEXTS.get(&(KIND, field)).map(|text| text.replace("{kind}", kind))
}

fn full_name(api_type: &Type) -> String {
    format!("{}.{}.{}", api_type.group, api_type.version, api_type.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::types;

    #[test]
    fn every_description_belongs_to_an_existing_type_or_field() {
        for (name, field) in TEXTS.keys().filter(|(name, _)| ![KIND, ANY].contains(name)) {
            let mut parts = name.splitn(3, '.');
            let mut part = || parts.next().unwrap_or_default();
            let id = types().find(part(), part(), part());
            let id = id.unwrap_or_else(|| panic!("there is no {name}"));
            let known = field.is_empty() || types().field(id, field).is_some();
            assert!(known, "{name} has no {field}");
        }
    }

    #[test]
    fn common_fields_are_described_for_every_kind() {
        let job = types().get(types().find("batch", "v1", "CronJob").unwrap());
        assert!(of_field(job, "spec").unwrap().contains("this CronJob"));
        assert!(of_field(job, "metadata").is_some());
        assert_eq!(of_field(job, "colour"), None);
        assert!(of_type(job).is_some());
    }
}
