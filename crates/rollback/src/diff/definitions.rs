//! Differences of the definitions themselves: versions, scope, names, subresources, conversion, columns.

use serde_json::Value;

use super::{Candidate, Difference, Presentation};
use crate::release::{Definition, Version};
use crate::schema::Path;

/// The parts of a definition that an update cannot change, or that name its kind.
const IMMUTABLE: [(&str, &str); 3] = [
    ("spec.scope", "/spec/scope"),
    ("spec.names.kind", "/spec/names/kind"),
    ("spec.names.plural", "/spec/names/plural"),
];

/// The candidates of the definitions, without their schemas.
pub(super) fn compare(newer: &Definition, older: &Definition) -> Vec<Candidate> {
    let at = |definition: &Definition, pointer: &str| {
        definition.object().pointer(pointer).cloned().unwrap_or(Value::Null)
    };
    let mut found = Vec::new();
    for (field, pointer) in IMMUTABLE {
        let (newer, older) = (at(newer, pointer), at(older, pointer));
        if newer != older {
            found.push(Candidate::of_definition(Difference::Immutable { field, newer, older }));
        }
    }
    let strategy = "/spec/conversion/strategy";
    let conversion = |definition| match at(definition, strategy) {
        Value::Null => Value::from("None"),
        strategy => strategy,
    };
    if conversion(newer) != conversion(older) {
        found.push(Candidate::of_definition(Difference::Presentation(Presentation::Conversion)));
    }
    for version in newer.versions() {
        let differences = match older.version(&version.name) {
            Some(before) if before.is_served || !version.is_served => of_version(version, before),
            _ if version.is_served || version.is_stored => {
                vec![Difference::Version { is_stored: version.is_stored }]
            }
            _ => Vec::new(),
        };
        found.extend(differences.into_iter().map(|difference| Candidate {
            version: version.name.clone(),
            path: Path::default(),
            difference,
        }));
    }
    found
}

/// The differences of a version that both releases serve.
fn of_version(newer: &Version, older: &Version) -> Vec<Difference> {
    let mut found = Vec::new();
    if newer.has_status && !older.has_status {
        found.push(Difference::Subresource("status"));
    }
    if newer.has_scale && !older.has_scale {
        found.push(Difference::Subresource("scale"));
    }
    if newer.columns != older.columns {
        found.push(Difference::Presentation(Presentation::Columns));
    }
    if newer.selectable != older.selectable {
        found.push(Difference::Presentation(Presentation::Selectors));
    }
    found
}

impl Candidate {
    /// A difference of the definition as a whole.
    fn of_definition(difference: Difference) -> Self {
        Self { version: String::new(), path: Path::default(), difference }
    }
}
