//! The first minors of fields (`since.list`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The first minor with a field of a type, which has a group, a version and a name; 0 if the field is as old as the type, or
/// older than 1.26.
pub(super) fn minor((group, version, owner): (&str, &str, &str), field: &str) -> u32 {
    static TABLE: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| rows().collect());
    let fields = TABLE.get(&*format!("{group}.{version}.{owner}")).copied().unwrap_or_default();
    let mut pairs = fields.split(' ').filter_map(|pair| pair.split_once(':'));
    pairs.find(|(name, _)| *name == field).and_then(|(_, minor)| minor.parse().ok()).unwrap_or(0)
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("since.list").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::types;

    #[test]
    fn fields_have_the_minor_of_their_line() {
        assert_eq!(minor(("core", "v1", "Lifecycle"), "stopSignal"), 33);
        assert_eq!(minor(("core", "v1", "Lifecycle"), "preStop"), 0);
        assert_eq!(minor(("core", "v1", "ConfigMap"), "data"), 0);
    }

    #[test]
    fn every_line_is_about_fields_of_the_tables() {
        for (name, fields) in rows() {
            let parts: Vec<&str> = name.split('.').collect();
            let [group, version, type_name] = parts[..] else { panic!("{name}") };
            let id = types().find(group, version, type_name).unwrap_or_else(|| panic!("{name}"));
            let known = types().fields(id);
            for pair in fields.split(' ') {
                let (field, minor) = pair.split_once(':').unwrap();
                assert!((26..=36).contains(&minor.parse::<u32>().unwrap()), "{name} {pair}");
                assert!(known.iter().any(|known| known.name == field), "{name} {field}");
            }
        }
    }
}
