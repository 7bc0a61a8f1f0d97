//! Valid objects of all kinds, with some fields changed: created, replaced, patched and applied.

mod mutate;
mod seeds;

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::corpus::edit;
use crate::corpus::edit::{json_patch, merge_patch};
use crate::oracle::{Kind, OracleKinds};
use crate::values::pick;

pub(super) use mutate::mutation;
pub(super) use seeds::seeds;

/// The requests of a case that create the object, and those that change it.
const CREATIONS: usize = 6;
const CHANGES: usize = 10;

/// The fields that differ from run to run, or between servers: addresses and ports that a server draws, also in Tables, and
/// the user of the token.
const RANDOM: &[(&str, &[&str])] = &[
    (
        "services",
        &[
            "/spec/clusterIP",
            "/spec/clusterIPs",
            "/spec/ports/*/nodePort",
            "/spec/healthCheckNodePort",
            "/rows/*/cells/2",
            "/rows/*/cells/4",
        ],
    ),
    ("certificatesigningrequests", &["/spec/username", "/spec/uid", "/rows/*/cells/3"]),
    ("apiservices", &["/status/conditions"]),
];

/// The kinds whose objects a controller inside of the real server writes a moment after they were created.
const WRITTEN_LATER: &[&str] = &["apiservices", "customresourcedefinitions"];

/// The pointers that a step about a kind ignores.
pub(super) fn ignored(kind: &Kind) -> &'static [&'static str] {
    RANDOM.iter().find(|(plural, _)| *plural == kind.plural).map_or(&[], |(_, ignored)| ignored)
}

pub(super) fn case(oracle: &OracleKinds, rng: &mut Rng, only: Option<&str>) -> Value {
    let seeds = seeds(oracle, only);
    let (kind, base) = *pick(rng, &seeds);
    let mut steps: Vec<Value> = (0..CREATIONS).map(|_| creation(oracle, rng, kind, base)).collect();
    steps.push(step(kind, &json!({"method": "POST", "path": kind.path(), "body": "${base}"}), true));
    let name = base["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("{}/{name}", kind.path());
    if kind.has("status") && base.get("status").is_some() {
        let request = json!({"method": "PUT", "path": format!("{path}/status"), "body": "${base}"});
        steps.push(step(kind, &request, true));
    }
    if WRITTEN_LATER.contains(&&*kind.plural) {
        steps.push(json!({"settle": 0.3}));
        steps.push(step(kind, &json!({"path": path}), true));
    }
    steps.extend((0..CHANGES).map(|_| change(oracle, rng, kind, base, &path)));
    json!({
        "defs": {"base": base},
        "steps": steps,
        "cleanup": [{"method": "DELETE", "path": path, "query": {"gracePeriodSeconds": "0"}}],
    })
}

fn step(kind: &Kind, request: &Value, capture: bool) -> Value {
    let mut step = json!({"request": request});
    if capture {
        step["capture"] = json!({"rv": "/metadata/resourceVersion"});
    }
    if !ignored(kind).is_empty() {
        step["ignore"] = json!(ignored(kind));
    }
    step
}

fn query(rng: &mut Rng) -> Map<String, Value> {
    let mut query = Map::from_iter([("dryRun".to_owned(), json!("All"))]);
    if rng.u8(..3) == 0 {
        query.insert("fieldValidation".into(), json!(*pick(rng, &["Strict", "Strict", "Warn", "Ignore"])));
    }
    query
}

fn creation(oracle: &OracleKinds, rng: &mut Rng, kind: &Kind, base: &Value) -> Value {
    let mut request = json!({"method": "POST", "path": kind.path(), "query": query(rng), "body": "${base}"});
    request.as_object_mut().expect("an object").extend(mutation(rng, oracle.schema(kind), base, ""));
    step(kind, &request, false)
}

/// An update or a patch of the object or of its status.
fn change(oracle: &OracleKinds, rng: &mut Rng, kind: &Kind, base: &Value, path: &str) -> Value {
    let status = kind.has("status") && rng.u8(..4) == 0;
    let path = if status { format!("{path}/status") } else { path.to_owned() };
    let below = if status && rng.u8(..8) > 0 { "/status" } else { "" };
    let edits = Value::Object(mutation(rng, oracle.schema(kind), base, below));
    let mut query = query(rng);
    let mut request = match rng.u8(..8) {
        0..4 => {
            let mut request = json!({"method": "PUT", "path": path, "body": "${base}"});
            request
                .as_object_mut()
                .expect("an object")
                .extend(edits.as_object().cloned().unwrap_or_default());
            if rng.u8(..10) > 0 {
                request["set"]["/metadata/resourceVersion"] = json!("${rv}");
            }
            request
        }
        4 => patch(&path, "application/json-patch+json", &json_patch(base, &edits)),
        5 => patch(&path, "application/merge-patch+json", &merge_patch(base, &edited(base, &edits))),
        6 => {
            patch(&path, "application/strategic-merge-patch+json", &merge_patch(base, &edited(base, &edits)))
        }
        _ => {
            query.insert("fieldManager".into(), json!("m"));
            query.insert("force".into(), json!("true"));
            patch(&path, "application/apply-patch+yaml", &edited(base, &edits))
        }
    };
    request["query"] = Value::Object(query);
    step(kind, &request, false)
}

fn patch(path: &str, media_type: &str, body: &Value) -> Value {
    json!({"method": "PATCH", "path": path, "type": media_type, "body": body})
}

fn edited(base: &Value, edits: &Value) -> Value {
    let mut body = base.clone();
    edit(&mut body, edits);
    body
}
