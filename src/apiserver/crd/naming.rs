//! Which names a CustomResourceDefinition gets: the naming and establishing controllers.

use serde_json::{Value, json};

use crate::apiserver::server::ApiServer;
use crate::base::clock::{Time, rfc3339};
use crate::model::{Key, condition};

impl ApiServer {
    /// Sets the conditions of the naming and establishing controllers, one write each as these make.
    pub(super) fn accept_names(&mut self, key: &Key, crd: &Value, now: Time) {
        let clash = self.name_clash(crd);
        let mut next = crd.clone();
        let mut conditions = next["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_established = |conditions: &[Value]| {
            condition::find(conditions, "Established").is_some_and(|found| found["status"] == "True")
        };
        let names = match &clash {
            None => ("True", "NoConflicts", "no conflicts found"),
            Some((reason, message)) => ("False", *reason, message.as_str()),
        };
        set_condition(&mut conditions, "NamesAccepted", names, now);
        if clash.is_none() {
            next["status"]["acceptedNames"] = next["spec"]["names"].clone();
        } else if !is_established(&conditions) {
            let refused = ("False", "NotAccepted", "not all names are accepted");
            set_condition(&mut conditions, "Established", refused, now);
        }
        next["status"]["conditions"] = json!(conditions);
        if next != *crd {
            self.store.put(self.crd_table, key, 0, next.clone());
        }
        if clash.is_none() && !is_established(&conditions) {
            let established = ("True", "InitialNamesAccepted", "the initial names have been accepted");
            set_condition(&mut conditions, "Established", established, now);
            next["status"]["conditions"] = json!(conditions);
            self.store.put(self.crd_table, key, 0, next);
        }
    }

    /// Another definition of the same group that has one of the names.
    fn name_clash(&self, crd: &Value) -> Option<(&'static str, String)> {
        let group = crd["spec"]["group"].as_str().unwrap_or_default();
        let names = &crd["spec"]["names"];
        let others = self.catalog.all().filter(|kind| {
            kind.resource.group == group && Some(&*kind.resource.plural) != names["plural"].as_str()
        });
        for other in others {
            for (field, taken, reason) in [
                ("listKind", other.list_kind.as_str(), "ListKindConflict"),
                ("kind", &*other.resource.kind, "KindConflict"),
                ("singular", other.singular.as_str(), "SingularConflict"),
            ] {
                if names[field].as_str() == Some(taken) {
                    return Some((reason, format!("\"{taken}\" is already in use")));
                }
            }
        }
        None
    }
}

/// Tells of a definition that was marked for deletion how far that is.
pub(crate) fn set_terminating(crd: &mut Value, reason: &str, message: &str, now: Time) {
    let mut conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    set_condition(&mut conditions, "Terminating", ("True", reason, message), now);
    crd["status"]["conditions"] = json!(conditions);
}

/// Sets a condition by the rule of these controllers: nothing moves unless status, reason or message do.
fn set_condition(
    conditions: &mut Vec<Value>,
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    now: Time,
) {
    let mut entry = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": rfc3339(now),
    });
    match conditions.iter_mut().find(|found| found["type"] == kind) {
        Some(found) => {
            if found["status"] == entry["status"] {
                entry["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = entry;
        }
        None => conditions.push(entry),
    }
}
