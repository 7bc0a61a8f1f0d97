//! Warnings about formats in schemas that the server does not know (`getUnrecognizedFormatsInCRD`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gotext;
use crate::schema::format::NamedFormat;

/// The first minor that warns. 1.34.0 also warned about formats of numbers; its patch releases no longer do.
const WARNED_OF: u32 = 34;

/// A warning for each unknown format of a definition, unless the stored definition already uses it.
pub(crate) fn warnings(crd: &Value, old: Option<&Value>, minor: u32) -> Vec<String> {
    if minor < WARNED_OF {
        return Vec::new();
    }
    let before = old.map(|old| unknown(old, minor)).unwrap_or_default();
    let new = unknown(crd, minor).into_iter().filter(|name| !before.contains(name));
    new.map(|name| format!("unrecognized format {}", gotext::quote(name))).collect()
}

fn unknown(crd: &Value, minor: u32) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        collect(&version["schema"]["openAPIV3Schema"], minor, &mut found);
    }
    found
}

/// Collects the unknown formats of strings; those of other types cause no warnings.
fn collect<'a>(schema: &'a Value, minor: u32, found: &mut BTreeSet<&'a str>) {
    let format = schema["format"].as_str().filter(|name| !name.is_empty() && schema["type"] == "string");
    let is_known =
        |name: &str| NamedFormat::find(name).is_some_and(|named| named.format.is_enforced_by(minor));
    found.extend(format.filter(|name| !is_known(name)));
    for name in ["properties", "patternProperties", "definitions", "dependencies"] {
        for schema in schema[name].as_object().into_iter().flat_map(serde_json::Map::values) {
            collect(schema, minor, found);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for schema in schema[name].as_array().into_iter().flatten() {
            collect(schema, minor, found);
        }
    }
    for name in ["items", "additionalProperties", "not"] {
        if schema[name].is_object() {
            collect(&schema[name], minor, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(formats: &[&str]) -> Value {
        let property = |name: &&str| ((*name).to_owned(), json!({ "type": "string", "format": name }));
        let properties: serde_json::Map<String, Value> = formats.iter().map(property).collect();
        json!({ "spec": { "versions": [{ "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "array", "items": { "type": "object", "properties": properties } },
            "number": { "type": "integer", "format": "int7" },
        } } } }] } })
    }

    #[test]
    fn warns_about_new_unknown_formats_of_strings_since_1_34() {
        let crd = definition(&["uuid", "date-time", "colour", "k8s-short-name"]);
        assert_eq!(warnings(&crd, None, 33), [""; 0]);
        assert_eq!(
            warnings(&crd, None, 34),
            ["unrecognized format \"colour\"", "unrecognized format \"k8s-short-name\""]
        );
        assert_eq!(warnings(&crd, None, 35), ["unrecognized format \"colour\""]);
        assert_eq!(warnings(&crd, Some(&definition(&["colour"])), 35), [""; 0]);
    }
}
