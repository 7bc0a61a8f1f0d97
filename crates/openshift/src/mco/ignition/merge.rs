//! Merges Ignition configs: fields of the second replace those of the first, and entries of lists are merged by their
//! keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::{Field, Kind, Lists, NODES, Type, key_of};

/// Merges `child` into `parent`. Both are of the newest minor of spec 3.
pub(super) fn merge(parent: &Value, child: &Value, of: &'static Type) -> Value {
    let mut merged = Map::new();
    let shared = SharedKeys::of(child, of);
    for field in of.fields {
        let (ours, theirs) = (&parent[field.name], &child[field.name]);
        let value = match field.kind {
            Kind::Name | Kind::Short | Kind::Number => theirs.clone(),
            Kind::Text | Kind::Int | Kind::Flag => if theirs.is_null() { ours } else { theirs }.clone(),
            Kind::One(inner) => match (ours, theirs) {
                (_, Value::Null) => ours.clone(),
                (Value::Null, _) => theirs.clone(),
                _ => merge(ours, theirs, inner),
            },
            Kind::Texts => lists(of, field, None, [ours, theirs], &shared),
            Kind::Many(inner) => lists(of, field, Some(inner), [ours, theirs], &shared),
        };
        if !value.is_null() {
            merged.insert(field.name.to_owned(), value);
        }
    }
    Value::Object(merged)
}

/// The lists of an object that share their keys, and the list of each key.
struct SharedKeys(BTreeMap<String, &'static str>);

impl SharedKeys {
    fn of(child: &Value, of: &'static Type) -> Self {
        let mut keys = BTreeMap::new();
        for field in of.fields.iter().filter(|field| shares(of, field)) {
            let inner = if let Kind::Many(inner) = field.kind { Some(inner) } else { None };
            for entry in child[field.name].as_array().into_iter().flatten() {
                keys.insert(key_of(inner, entry), field.name);
            }
        }
        Self(keys)
    }

    /// Returns whether another list of the second config has this key.
    fn is_elsewhere(&self, of: &Type, field: &Field, key: &str) -> bool {
        shares(of, field) && self.0.get(key).is_some_and(|list| *list != field.name)
    }
}

/// Returns whether a list shares its keys with others of its object.
fn shares(of: &Type, field: &Field) -> bool {
    of.lists == Lists::Shared || of.name == "storage" && NODES.contains(&field.name)
}

fn lists(
    of: &'static Type,
    field: &Field,
    inner: Option<&'static Type>,
    [ours, theirs]: [&Value; 2],
    shared: &SharedKeys,
) -> Value {
    let entries = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (entries(ours), entries(theirs));
    let mut merged = Vec::with_capacity(ours.len() + theirs.len());
    if of.repeats(field.name) {
        merged.extend(ours);
        merged.extend(theirs);
    } else {
        let keys: Vec<String> = ours.iter().map(|entry| key_of(inner, entry)).collect();
        for (entry, key) in ours.iter().zip(&keys) {
            // Of several entries with this key the last one counts.
            match theirs.iter().rfind(|other| key_of(inner, other) == *key) {
                _ if shared.is_elsewhere(of, field, key) => {}
                Some(other) if field.name == "httpHeaders" && other["value"].is_null() => {}
                Some(other) => {
                    merged.push(inner.map_or_else(|| other.clone(), |inner| merge(entry, other, inner)));
                }
                None => merged.push(entry.clone()),
            }
        }
        merged.extend(theirs.into_iter().filter(|entry| !keys.contains(&key_of(inner, entry))));
    }
    if merged.is_empty() { Value::Null } else { Value::Array(merged) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::CONFIG;
    use super::*;

    fn merged(parent: &Value, child: &Value) -> Value {
        let with_version = |config: &Value| {
            let mut config = config.clone();
            config["ignition"]["version"] = json!("3.4.0");
            config
        };
        let mut merged = merge(&with_version(parent), &with_version(child), &CONFIG);
        merged.as_object_mut().unwrap().remove("ignition");
        merged
    }

    #[test]
    fn units_and_users_are_merged_field_by_field() {
        let parent = json!({
            "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": ["a"] }] },
            "systemd": { "units": [{ "name": "a.service", "enabled": true, "dropins": [{ "name": "1.conf", "contents": "1" }] }] },
        });
        let child = json!({
            "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": ["b", "a"] }] },
            "systemd": { "units": [{ "name": "a.service", "mask": true, "dropins": [{ "name": "2.conf", "contents": "2" }] }] },
        });
        let merged = merged(&parent, &child);
        assert_eq!(merged["passwd"]["users"][0]["sshAuthorizedKeys"], json!(["a", "b"]));
        let unit = &merged["systemd"]["units"][0];
        assert_eq!((&unit["enabled"], &unit["mask"]), (&json!(true), &json!(true)));
        let dropins: Vec<&Value> =
            unit["dropins"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(dropins, ["1.conf", "2.conf"]);
    }

    #[test]
    fn a_path_is_in_one_list_and_appended_texts_add_up() {
        let parent = json!({ "storage": {
            "files": [{ "path": "/a", "append": [{ "source": "data:,1" }] }, { "path": "/b" }],
            "links": [{ "path": "/c", "target": "/x" }],
        } });
        let child = json!({ "storage": {
            "directories": [{ "path": "/b" }],
            "files": [{ "path": "/a", "append": [{ "source": "data:,1" }] }, { "path": "/c" }],
        } });
        let merged = merged(&parent, &child);
        let twice = json!([{ "source": "data:,1" }, { "source": "data:,1" }]);
        let files = json!([{ "path": "/a", "append": twice }, { "path": "/c" }]);
        assert_eq!(merged["storage"], json!({ "directories": [{ "path": "/b" }], "files": files }));
    }
}
