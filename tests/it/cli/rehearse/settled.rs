//! A cluster that is well stays as it is after its import: an hour without an update changes nothing but what time changes.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel::record::{Event, INSTALLER, Record};
use windtunnel_core::Object;

use super::TestEnvironment;

/// Fields that time changes, and those that the API server writes itself.
const OF_TIME: [&str; 10] = [
    "creationTimestamp",
    "lastHeartbeatTime",
    "lastProbeTime",
    "lastScheduleTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "managedFields",
    "observedGeneration",
    "resourceVersion",
    "windtunnel.dev/fault",
];

/// Removes the fields of time, and empty maps and lists.
fn normalise(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in OF_TIME {
                fields.remove(name);
            }
            fields.values_mut().for_each(normalise);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The paths of fields that differ.
fn differences(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
                differences(&before[name.as_str()], &after[name.as_str()], &format!("{path}.{name}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (before, after)) in one.iter().zip(other).enumerate() {
                differences(before, after, &format!("{path}[{index}]"), found);
            }
        }
        _ if before != after => found.push(format!("{path}: {before} -> {after}")),
        _ => {}
    }
}

/// The objects of a dump that an hour changes or deletes, with what differs. `path` has the dump.
fn changed_within_an_hour<'o>(
    environment: &TestEnvironment,
    path: &str,
    objects: impl Iterator<Item = &'o Object>,
) -> Vec<String> {
    let scenario = "name: an hour\ncluster: {version: 4.18.3}\ntimeline:\n- advance: 1h\n";
    environment.write("hour.yaml", scenario);
    let output =
        environment.run(&["run", "hour.yaml", "--start-from", path, "--record", "hour.jsonl", "--quiet"]);
    assert!(environment.files().iter().any(|file| file == "hour.jsonl"), "{output}");
    let record = Record::parse(&environment.read("hour.jsonl")).unwrap();
    let imported: BTreeMap<&str, &Object> = record
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Write(write) if write.by == INSTALLER => write.after.as_ref(),
            _ => None,
        })
        .map(|object| (object.uid(), object))
        .collect();
    let last = record.view_at(record.end());
    let after: BTreeMap<&str, &Object> = last.objects().map(|(_, object)| (object.uid(), object)).collect();
    let mut lines = Vec::new();
    for object in objects {
        let is_same = |other: &&&Object| {
            ["/kind", "/metadata/namespace", "/metadata/name"]
                .iter()
                .all(|place| object.text(place) == other.text(place))
        };
        let Some(before) = imported.get(object.uid()).filter(is_same) else { continue };
        let name = format!("{} {}/{}", object.text("/kind"), object.namespace(), object.name());
        let Some(after) = after.get(object.uid()) else {
            lines.push(format!("{name}: deleted"));
            continue;
        };
        let (mut before, mut after) = (before.to_value(), after.to_value());
        normalise(&mut before);
        normalise(&mut after);
        let mut found = Vec::new();
        differences(&before, &after, "", &mut found);
        lines.extend(found.into_iter().map(|found| format!("{name}{found}")));
    }
    lines
}

#[test]
fn the_objects_of_real_dumps_stay_as_they_are() {
    let Some(dumps) = crate::recordings::shared_or_skip("dumps") else { return };
    for name in ["must-gather-4.18-gcp.tar.gz", "must-gather-4.8-aws.tar.gz"] {
        let path = dumps.join(name);
        let dump = windtunnel::cli::read_dump(&path).unwrap().0;
        let environment = TestEnvironment::new();
        let objects = dump.objects().map(|(_, object)| object);
        let changed = changed_within_an_hour(&environment, &path.display().to_string(), objects);
        assert!(changed.is_empty(), "{name}: {changed:#?}");
    }
}
