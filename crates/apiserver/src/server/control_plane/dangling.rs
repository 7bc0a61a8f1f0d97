//! The condition of FlowSchemas that a controller in the server keeps: whether their priority level is missing
//! (`presyncFlowSchemaStatus`).

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::{Time, rfc3339};

use crate::gotext::quote;
use crate::server::ApiServer;
use crate::server::change::{Change, Derived};
use crate::store::{Stored, TableId};

pub(super) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
pub(super) const LEVELS: Resource =
    Resource::cluster(GROUP, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations");
pub(super) const SCHEMAS: Resource = Resource::cluster(GROUP, "v1", "FlowSchema", "flowschemas");

const CONDITION: &str = "Dangling";

/// Updates the conditions of all FlowSchemas after a write of one, or of a priority level.
pub(in crate::server) struct FlowSchemaConditions;

impl Derived for FlowSchemaConditions {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        if !change.kind.is_resource(GROUP, &LEVELS.plural) && !change.kind.is_resource(GROUP, &SCHEMAS.plural)
        {
            return;
        }
        let Some(levels) = server.table_of(&LEVELS) else { return };
        let Some(schemas) = server.table_of(&SCHEMAS) else { return };
        let stored: Vec<(String, Stored)> = server
            .store
            .list(schemas, "")
            .map(|(_, name, entry)| (name.to_owned(), entry.served()))
            .collect();
        for (name, schema) in stored {
            let level = schema["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap_or_default();
            let wanted = condition(level, server.store.get(levels, "", level).is_some(), change.now);
            if let Some(changed) = with_condition(&schema, wanted) {
                server.store.rewrite(schemas, &SCHEMAS.key("", &name), 0, changed);
            }
        }
    }
}

impl ApiServer {
    /// The table of a kind that may have several versions.
    fn table_of(&self, resource: &Resource) -> Option<TableId> {
        self.catalog.versions(&resource.group, &resource.plural).first().map(|kind| kind.table)
    }
}

/// The condition of a FlowSchema with this priority level.
pub(super) fn condition(level: &str, exists: bool, now: Time) -> Value {
    let (status, reason, what) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let level = quote(level);
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level} {what}");
    json!({
        "type": CONDITION, "status": status, "lastTransitionTime": rfc3339(now),
        "reason": reason, "message": message,
    })
}

/// A FlowSchema with the wanted condition; `None` if it has that already.
fn with_condition(schema: &Value, wanted: Value) -> Option<Value> {
    let mut conditions = schema["status"]["conditions"].as_array().cloned().unwrap_or_default();
    match conditions.iter_mut().find(|one| one["type"] == CONDITION) {
        Some(found)
            if ["status", "reason", "message"].iter().all(|field| found[*field] == wanted[*field]) =>
        {
            return None;
        }
        Some(found) => *found = wanted,
        None => conditions.push(wanted),
    }
    let mut schema = schema.clone();
    schema["status"]["conditions"] = Value::Array(conditions);
    Some(schema)
}

#[cfg(test)]
mod tests {
    use windtunnel_core::{Identity, Write};

    use super::*;

    #[test]
    fn a_flow_schema_dangles_until_its_level_exists() {
        let mut server = ApiServer::builder().build(Time::UNIX_EPOCH);
        let write = |server: &mut ApiServer, write: &Write| {
            server.write(write, &Identity::admin(), Time::UNIX_EPOCH).map_err(|rejection| rejection.message)
        };
        let rule = json!({
            "subjects": [{ "kind": "User", "user": { "name": "u" } }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        });
        let spec = json!({ "priorityLevelConfiguration": { "name": "p" }, "rules": [rule] });
        let schema = json!({ "metadata": { "name": "s" }, "spec": spec });
        write(&mut server, &Write::create(&SCHEMAS, schema)).unwrap();
        let reason = |server: &ApiServer| {
            let table = server.table_of(&SCHEMAS).unwrap();
            let schema = server.store.get(table, "", "s").unwrap().served();
            schema["status"]["conditions"][0]["reason"].as_str().unwrap().to_owned()
        };
        assert_eq!(reason(&server), "NotFound");
        let spec = json!({ "type": "Limited", "limited": { "limitResponse": { "type": "Reject" } } });
        let level = json!({ "metadata": { "name": "p" }, "spec": spec });
        write(&mut server, &Write::create(&LEVELS, level)).unwrap();
        assert_eq!(reason(&server), "Found");
    }
}
