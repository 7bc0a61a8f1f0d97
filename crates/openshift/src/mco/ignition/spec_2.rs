//! Configs of spec 2, up to 2.2, and their translation to spec 3.

use serde_json::{Value, json};

use super::schema::CONFIG;
use super::validate::{self, Rules};
use super::version::{Dialect, SpecVersion};

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Reads a config. `None` as error for an unknown version.
pub(super) fn parse(raw: &Value) -> Result<Value, Option<String>> {
    let version = raw["ignition"]["version"].as_str().and_then(SpecVersion::parse).ok_or(None)?;
    let is_known = matches!(version.numbers, [2, 0..=2, 0]) && version.suffix.is_empty();
    if !is_known {
        return Err(None);
    }
    for node in ["files", "directories", "links"].iter().flat_map(|kind| list(&raw["storage"][*kind])) {
        let why = match node["filesystem"].as_str() {
            None | Some("") => Some("no filesystem specified"),
            Some(_) => validate::wrong_path(node["path"].as_str().unwrap_or_default())
                .filter(|why| *why == "path not absolute"),
        };
        if let Some(why) = why {
            return Err(Some(format!("config is not valid\nReport: error: {why}")));
        }
    }
    Ok(with_defaults(raw.clone(), version.numbers[1]))
}

/// Up to 2.1 a mode is zero by default; in 2.0 so are the owners of files, and units have no `enabled`.
fn with_defaults(mut config: Value, minor: u64) -> Value {
    if minor == 0 {
        let units = config.pointer_mut("/systemd/units").and_then(Value::as_array_mut);
        for unit in units.into_iter().flatten().filter_map(Value::as_object_mut) {
            unit.remove("enabled");
        }
    }
    let kinds: &[&str] = match minor {
        0 => &["files"],
        1 => &["files", "directories"],
        _ => &[],
    };
    for kind in kinds {
        let nodes = config.pointer_mut(&format!("/storage/{kind}")).and_then(Value::as_array_mut);
        for node in nodes.into_iter().flatten() {
            if node["mode"].is_null() {
                node["mode"] = json!(0);
            }
            if minor == 0 {
                for of in ["user", "group"] {
                    node[of] = json!({ "id": node[of]["id"].as_i64().unwrap_or_default() });
                }
            }
        }
    }
    config
}

/// Translates a config to spec 3.0.
pub(super) fn translate(config: &Value, dialect: Dialect) -> Result<Value, String> {
    let failed = |why: String| {
        format!(
            "failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: {why}"
        )
    };
    let storage = &config["storage"];
    let mut ours = json!({ "ignition": { "version": "3.0.0" } });
    put(&mut ours, "ignition", "timeouts", config["ignition"]["timeouts"].clone());
    put(&mut ours, "ignition", "security", config["ignition"]["security"].clone());
    put(&mut ours, "passwd", "users", users(&config["passwd"]["users"])?);
    put(
        &mut ours,
        "passwd",
        "groups",
        each(&config["passwd"]["groups"], |group| keep(group, &["gid", "name", "passwordHash", "system"])),
    );
    put(&mut ours, "systemd", "units", Value::Array(units(&config["systemd"]["units"])));
    put(&mut ours, "storage", "files", Value::Array(files(&storage["files"])));
    put(
        &mut ours,
        "storage",
        "directories",
        each(&storage["directories"], |node| with(owned(node), node, &["mode"])),
    );
    put(
        &mut ours,
        "storage",
        "links",
        each(&storage["links"], |node| with(owned(node), node, &["hard", "target"])),
    );
    put(
        &mut ours,
        "storage",
        "raid",
        each(&storage["raid"], |raid| keep(raid, &["devices", "level", "name", "options", "spares"])),
    );
    put(&mut ours, "storage", "disks", each(&storage["disks"], disk));
    let report = validate::validate(&ours, &CONFIG, Rules { minor: 0, are_old: dialect.tries_each() });
    if report.is_fatal() { Err(failed(report.to_string())) } else { Ok(ours) }
}

/// Sets a field of a section unless it is empty.
fn put(config: &mut Value, section: &str, field: &str, value: Value) {
    let is_empty = match &value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if !is_empty {
        config[section][field] = value;
    }
}

fn each(value: &Value, translated: impl Fn(&Value) -> Value) -> Value {
    Value::Array(list(value).iter().map(translated).collect())
}

/// An object with these fields, without those that are at their default.
fn keep(value: &Value, fields: &[&str]) -> Value {
    with(json!({}), value, fields)
}

fn with(mut object: Value, value: &Value, fields: &[&str]) -> Value {
    for field in fields {
        let is_default = match &value[*field] {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty() && *field != "target",
            Value::Array(list) => list.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0) && matches!(*field, "spares" | "number"),
            Value::Bool(true) | Value::Object(_) => false,
        };
        if !is_default || *field == "name" {
            object[*field] = value[*field].clone();
        }
    }
    object
}

/// Path, owner and `overwrite` of a node of the file tree.
fn owned(node: &Value) -> Value {
    let path = validate::clean(node["path"].as_str().unwrap_or_default());
    let mut ours = json!({ "path": path });
    for of in ["user", "group"] {
        let owner = keep(&node[of], &["id"]);
        let owner = match node[of]["name"].as_str() {
            Some(name) if !name.is_empty() => with(owner, &json!({ "name": name }), &["name"]),
            _ => owner,
        };
        if owner.as_object().is_some_and(|owner| !owner.is_empty()) {
            ours[of] = owner;
        }
    }
    if node["overwrite"].is_boolean() {
        ours["overwrite"] = node["overwrite"].clone();
    }
    ours
}

/// The last of the files with the same path counts. The last file comes first.
fn files(value: &Value) -> Vec<Value> {
    let mut paths = Vec::new();
    let mut ours = Vec::new();
    for file in list(value).iter().rev() {
        if paths.contains(&file["path"]) {
            continue;
        }
        paths.push(file["path"].clone());
        let mut node = with(owned(file), file, &["mode"]);
        if !file["overwrite"].is_boolean() {
            node["overwrite"] = json!(true);
        }
        let source = file["contents"]["source"].as_str().unwrap_or_default();
        let contents = with(json!({ "source": source }), &file["contents"], &["compression"]);
        let contents = match &file["contents"]["verification"]["hash"] {
            Value::Null => contents,
            hash => {
                let mut contents = contents;
                contents["verification"] = json!({ "hash": hash });
                contents
            }
        };
        if file["append"] == true {
            node["overwrite"] = json!(false);
            node["append"] = json!([contents]);
        } else {
            node["contents"] = contents;
        }
        ours.push(node);
    }
    ours
}

/// The last of the units with the same name counts, with the drop-ins of all. The last unit comes first.
fn units(value: &Value) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for unit in list(value).into_iter().rev() {
        let Some(there) = merged.iter_mut().find(|there| there["name"] == unit["name"]) else {
            merged.push(unit);
            continue;
        };
        let mut dropins = list(&there["dropins"]);
        for dropin in list(&unit["dropins"]) {
            if !dropins.iter().any(|other| other["name"] == dropin["name"]) {
                dropins.push(dropin);
            }
        }
        there["dropins"] = Value::Array(dropins);
    }
    let unit = |unit: &Value| {
        let mut ours = keep(unit, &["contents", "mask", "name"]);
        if let Some(enabled) = unit["enabled"].as_bool() {
            ours["enabled"] = json!(enabled);
        } else if unit["enable"] == true {
            ours["enabled"] = json!(true);
        }
        let dropins = each(&unit["dropins"], |dropin| keep(dropin, &["contents", "name"]));
        if dropins.as_array().is_some_and(|dropins| !dropins.is_empty()) {
            ours["dropins"] = dropins;
        }
        ours
    };
    merged.iter().map(unit).collect()
}

/// The only user is `core`; its keys are those of all entries, the last entry's first.
fn users(value: &Value) -> Result<Value, String> {
    let entries = list(value);
    let Some(last) = entries.last() else { return Ok(Value::Null) };
    let mut keys = Vec::new();
    for user in entries.iter().rev() {
        if user["name"] != "core" {
            let name = user["name"].as_str().unwrap_or_default();
            return Err(format!("unexpected user with name: {name}. Only core user is supported"));
        }
        for key in list(&user["sshAuthorizedKeys"]) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let fields = [
        "gecos",
        "groups",
        "homeDir",
        "name",
        "noCreateHome",
        "noLogInit",
        "noUserGroup",
        "passwordHash",
        "primaryGroup",
        "shell",
        "system",
        "uid",
    ];
    let mut user = keep(last, &fields);
    if !keys.is_empty() {
        user["sshAuthorizedKeys"] = Value::Array(keys);
    }
    Ok(json!([user]))
}

/// Sizes and starts of partitions are in sectors of 512 bytes.
fn disk(value: &Value) -> Value {
    let mut ours = keep(value, &["device", "wipeTable"]);
    let partition = |partition: &Value| {
        let mut ours = keep(partition, &["guid", "label", "number", "typeGuid"]);
        for (from, to) in [("size", "sizeMiB"), ("start", "startMiB")] {
            if let Some(sectors) = partition[from].as_i64().filter(|sectors| *sectors != 0) {
                ours[to] = json!(sectors / 2048);
            }
        }
        ours
    };
    let partitions: Vec<Value> = list(&value["partitions"]).iter().map(partition).collect();
    if !partitions.is_empty() {
        ours["partitions"] = Value::Array(partitions);
    }
    ours
}
