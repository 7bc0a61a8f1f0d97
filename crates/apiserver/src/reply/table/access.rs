//! Cells of RBAC, certificate, admission and other administrative kinds.

use serde_json::{Value, json};

use super::ages;
use super::row::{Cells, NONE, Row, UNSET, or};

pub(super) fn binding(row: &Row<'_>) -> Cells {
    let subjects = |kind: &str| {
        let subjects = row.list("/subjects").iter().filter(|subject| subject["kind"] == kind);
        let names = subjects.map(|subject| {
            let name = subject["name"].as_str().unwrap_or_default();
            match subject["namespace"].as_str() {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        });
        json!(names.collect::<Vec<_>>().join(", "))
    };
    let role = format!("{}/{}", row.text("/roleRef/kind"), row.text("/roleRef/name"));
    vec![row.name(), json!(role), row.age(), subjects("User"), subjects("Group"), subjects("ServiceAccount")]
}

pub(super) fn certificate_request(row: &Row<'_>) -> Cells {
    let has = |name: &str| row.list("/status/conditions").iter().any(|found| found["type"] == name);
    let mut condition = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if !row.text("/status/certificate").is_empty() {
        condition.push_str(",Issued");
    }
    let asked = row.get("/spec/expirationSeconds").and_then(Value::as_i64);
    vec![
        row.name(),
        row.age(),
        json!(row.text_or("/spec/signerName", NONE)),
        json!(row.text("/spec/username")),
        json!(asked.map_or_else(|| NONE.to_owned(), ages::human)),
        json!(condition),
    ]
}

pub(super) fn service_account(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.count("/secrets")), row.age()]
}

pub(super) fn config_map(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.count("/data") + row.count("/binaryData")), row.age()]
}

pub(super) fn secret(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.text("/type")), json!(row.count("/data")), row.age()]
}

pub(super) fn webhook_configuration(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.count("/webhooks")), row.age()]
}

pub(super) fn admission_policy(row: &Row<'_>) -> Cells {
    let parameters = match (row.text("/spec/paramKind/apiVersion"), row.text("/spec/paramKind/kind")) {
        ("", _) => UNSET.to_owned(),
        (version, kind) => format!("{version}/{kind}"),
    };
    vec![row.name(), json!(row.count("/spec/validations")), json!(parameters), row.age()]
}

pub(super) fn admission_policy_binding(row: &Row<'_>) -> Cells {
    let parameters = match row.get("/spec/paramRef") {
        None => UNSET.to_owned(),
        Some(to) => {
            let text = |field: &str| to[field].as_str().unwrap_or_default();
            match (text("namespace"), text("name")) {
                ("", name) => or(name, "*").to_owned(),
                (namespace, name) => format!("{namespace}/{}", or(name, "*")),
            }
        }
    };
    vec![row.name(), json!(row.text("/spec/policyName")), json!(parameters), row.age()]
}

pub(super) fn api_service(row: &Row<'_>) -> Cells {
    let service = match row.get("/spec/service") {
        None => "Local".to_owned(),
        Some(_) => format!("{}/{}", row.text("/spec/service/namespace"), row.text("/spec/service/name")),
    };
    let available = row.list("/status/conditions").iter().find(|found| found["type"] == "Available");
    let available = available.map_or_else(
        || "Unknown".to_owned(),
        |found| {
            let text = |field: &str| found[field].as_str().unwrap_or_default();
            if text("status") == "True" {
                "True".to_owned()
            } else {
                format!("{} ({})", text("status"), text("reason"))
            }
        },
    );
    vec![row.name(), json!(service), json!(available), row.age()]
}

pub(super) fn resource_quota(row: &Row<'_>) -> Cells {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = row.get("/status/hard").and_then(Value::as_object);
    for (resource, hard) in hard.into_iter().flatten() {
        let used = row.object["status"]["used"][resource].as_str().unwrap_or("0");
        let text = format!("{resource}: {used}/{}", super::row::plain(hard));
        if resource.starts_with("limits") { limits.push(text) } else { requests.push(text) }
    }
    let (requests, limits) = (json!(requests.join(", ")), json!(limits.join(", ")));
    vec![row.name(), row.age(), requests, limits, row.age()]
}

pub(super) fn priority_class(row: &Row<'_>) -> Cells {
    vec![
        row.name(),
        json!(row.int("/value")),
        json!(row.flag("/globalDefault")),
        row.age(),
        json!(row.text_or("/preemptionPolicy", "PreemptLowerPriority")),
    ]
}

pub(super) fn runtime_class(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.text("/handler")), row.age()]
}

pub(super) fn flow_schema(row: &Row<'_>) -> Cells {
    let dangling = row.list("/status/conditions").iter().find(|found| found["type"] == "Dangling");
    let dangling = dangling.and_then(|found| found["status"].as_str()).unwrap_or("?");
    vec![
        row.name(),
        json!(row.text_or("/spec/priorityLevelConfiguration/name", NONE)),
        json!(row.int("/spec/matchingPrecedence")),
        json!(row.text_or("/spec/distinguisherMethod/type", NONE)),
        row.age(),
        json!(dangling),
    ]
}

pub(super) fn priority_level(row: &Row<'_>) -> Cells {
    let number = |pointer: &str| row.get(pointer).cloned().unwrap_or_else(|| json!(NONE));
    vec![
        row.name(),
        json!(row.text("/spec/type")),
        number("/spec/limited/nominalConcurrencyShares"),
        number("/spec/limited/limitResponse/queuing/queues"),
        number("/spec/limited/limitResponse/queuing/handSize"),
        number("/spec/limited/limitResponse/queuing/queueLengthLimit"),
        row.age(),
    ]
}
