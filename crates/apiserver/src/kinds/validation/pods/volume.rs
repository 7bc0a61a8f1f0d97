//! Validation of the volumes of pods.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::validation::pods::container;
use crate::kinds::validation::{Errors, Path, absent, items, text};

/// Validates the volumes of a pod and returns their names.
pub(in crate::kinds::validation) fn list<'a>(
    volumes: &'a Value,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in items(volumes).iter().enumerate() {
        let at = Path::Index(&at, index);
        container::label(&volume["name"], Path::Field(&at, "name"), errors);
        let name = text(&volume["name"]);
        if !name.is_empty() && !names.insert(name) {
            errors.duplicate(Path::Field(&at, "name"), name);
        }
        let sources = volume.as_object().into_iter().flatten().filter(|(field, _)| *field != "name");
        for (field, _) in sources.skip(1) {
            errors.forbidden(Path::Field(&at, field), "may not specify more than 1 volume type");
        }
        required(volume, at, errors);
    }
    names
}

/// Requires the fields that some volume sources cannot do without.
fn required(volume: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (source, field) in [
        ("hostPath", "path"),
        ("secret", "secretName"),
        ("configMap", "name"),
        ("persistentVolumeClaim", "claimName"),
        ("csi", "driver"),
        ("nfs", "server"),
    ] {
        if volume[source].is_object() && absent(&volume[source][field]) {
            let at = Path::Field(&at, source);
            errors.required(Path::Field(&at, field), "");
        }
    }
}
