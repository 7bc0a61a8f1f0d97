//! Finds the objects and insights of a reference, and checks them.

use serde_json::Value;
use windtunnel_core::condition;
use windtunnel_core::resources::{CONFIG_MAPS, UPDATE_STATUSES};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::{Object, View, pod};
use windtunnel_update_status::insight::{documents, published};

use super::acceptance::{condition_text, explained, named_images};
use crate::plan::{Check, InsightRef, ObjectRef, TextMatch, path};

/// Returns the objects that a reference selects.
pub(in crate::engine) fn objects<'a>(
    view: &'a View,
    wanted: &'a ObjectRef,
) -> impl Iterator<Item = &'a Object> {
    let candidates: Box<dyn Iterator<Item = &Object>> = if wanted.name.ends_with('*') {
        Box::new(view.list_in(&wanted.resource, &wanted.namespace))
    } else {
        Box::new(view.get(&wanted.resource, &wanted.namespace, &wanted.name).into_iter())
    };
    candidates.filter(|object| name_fits(object.name(), &wanted.name))
}

/// Whether a name matches `wanted`, which may end in `*`.
pub(in crate::engine) fn name_fits(name: &str, wanted: &str) -> bool {
    wanted.strip_suffix('*').map_or(name == wanted, |start| name.starts_with(start))
}

/// The published insights about a resource, parsed: from the ConfigMap, or without one from the UpdateStatus.
pub(in crate::engine) fn insights(view: &View, wanted: &InsightRef) -> Vec<Value> {
    if let Some(map) = view.get(&CONFIG_MAPS, published::NAMESPACE, published::CONFIG_MAP) {
        return insights_in(map, wanted);
    }
    let object = view.get(&UPDATE_STATUSES, "", published::UPDATE_STATUS);
    object.map(|object| insights_of(object, wanted)).unwrap_or_default()
}

/// The insights of an UpdateStatus about a resource.
pub(in crate::engine) fn insights_of(update_status: &Value, wanted: &InsightRef) -> Vec<Value> {
    let insights = published::insights_in_status(&update_status["status"]);
    insights.filter_map(|(_, insight)| content_if_about(insight, wanted).cloned()).collect()
}

/// The insights of a ConfigMap about a resource, parsed.
pub(in crate::engine) fn insights_in(config_map: &Value, wanted: &InsightRef) -> Vec<Value> {
    // Documents without these words are not worth parsing; a large cluster has a thousand documents.
    let name = wanted.name.trim_end_matches('*');
    published::documents(config_map)
        .filter(|(_, document)| has_word(document, &wanted.kind) && document.contains(name))
        .filter_map(|(_, document)| documents::parse_cached(document))
        .filter_map(|insight| content_if_about(&insight, wanted).cloned())
        .collect()
}

/// Whether a text has this word, not followed by a letter or digit: `Healthy` is a condition of operators, not
/// a `Health` insight.
fn has_word(text: &str, word: &str) -> bool {
    let continues = |end: usize| text[end..].starts_with(|next: char| next.is_alphanumeric());
    text.match_indices(word).any(|(at, word)| !continues(at + word.len()))
}

/// Returns the content of a published insight, if it is about the wanted resource.
fn content_if_about<'a>(insight: &'a Value, wanted: &InsightRef) -> Option<&'a Value> {
    let (kind, content) = published::content(insight)?;
    let fits = |resource: &Value| resource["name"].as_str().is_some_and(|name| name_fits(name, &wanted.name));
    let scope = content["scope"]["resources"].as_array().map_or(&[][..], Vec::as_slice);
    let named = wanted.name.is_empty() || fits(&content["resource"]) || scope.iter().any(fits);
    let is_about = |about: &ObjectRef| scope.iter().any(|resource| is_object(resource, about));
    (kind == wanted.kind && named && wanted.about.as_ref().is_none_or(is_about)).then_some(content)
}

/// Whether an insight's resource reference names this object.
fn is_object(reference: &Value, wanted: &ObjectRef) -> bool {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    text("group") == wanted.resource.group
        && text("resource") == wanted.resource.plural
        && (text("namespace") == wanted.namespace || is_any_namespace(wanted))
        && name_fits(text("name"), &wanted.name)
}

/// Whether a reference leaves the namespace open: one to an alert, whose labels may have any or none.
fn is_any_namespace(wanted: &ObjectRef) -> bool {
    wanted.resource.kind == "Alert" && wanted.namespace.is_empty()
}

/// Whether all checks hold for one object or insight.
pub(in crate::engine) fn check_all(
    found: &Value,
    before: Option<&Value>,
    checks: &[Check],
) -> Result<(), String> {
    checks.iter().try_for_each(|check| check_one(found, before, check))
}

fn check_one(found: &Value, before: Option<&Value>, check: &Check) -> Result<(), String> {
    match check {
        Check::Condition { kind, status, reason, message } => {
            let list = found["status"]["conditions"].as_array().or_else(|| found["conditions"].as_array());
            let Some(condition) = list.and_then(|list| condition::find(list, kind)) else {
                return Err(format!("there is no condition {kind}{}", hint(list, kind)));
            };
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            let fits =
                |wanted: &Option<TextMatch>, field| wanted.as_ref().is_none_or(|w| w.fits(text(field)));
            if fits(status, "status") && fits(reason, "reason") && fits(message, "message") {
                return Ok(());
            }
            Err(condition_text(condition))
        }
        Check::NoCondition(wanted) => {
            let list = found["status"]["conditions"].as_array().or_else(|| found["conditions"].as_array());
            let there = list.and_then(|list| condition::find(list, wanted));
            there.map_or(Ok(()), |condition| Err(condition_text(condition)))
        }
        Check::Field { path, value } => {
            let seen = path::text_at(found, path);
            if value.fits(&seen) { Ok(()) } else { Err(format!("{path} is `{seen}`")) }
        }
        Check::Updated => check_updated(found),
        Check::Unchanged { path } => {
            let was = before.and_then(|before| path::find(before, path));
            if was == path::find(found, path) { Ok(()) } else { Err(format!("{path} changed")) }
        }
        Check::PodStatus(wanted) => {
            let seen = pod::status_column(&Object::new(found.clone()));
            if wanted.fits(&seen) { Ok(()) } else { Err(format!("the pod's status is `{seen}`")) }
        }
    }
}

/// Whether a ClusterVersion has reached its desired update. The error ends with the condition that says why it has not.
fn check_updated(cluster_version: &Value) -> Result<(), String> {
    check_arrived(cluster_version).map_err(|why| {
        let explains = [("ReleaseAccepted", "False"), ("Failing", "True"), ("Progressing", "True")];
        let mut found = explains
            .iter()
            .filter_map(|(kind, status)| condition::find_with_status(cluster_version, kind, status));
        found.next().map_or_else(|| why.clone(), |condition| format!("{why}; {}", explained(condition)))
    })
}

/// Whether the desired release is installed. `observedGeneration` does not show that: it ignores changes that need no apply,
/// such as another channel.
fn check_arrived(cluster_version: &Value) -> Result<(), String> {
    let (status, latest) = (&cluster_version["status"], &cluster_version["status"]["history"][0]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (field, installed) in [
        ("image", latest["image"].as_str()),
        ("version", latest["version"].as_str()),
        ("architecture", installed_architecture(status)),
    ] {
        let (wanted, installed) =
            (text(&cluster_version["spec"]["desiredUpdate"][field]), installed.unwrap_or_default());
        if !wanted.is_empty() && wanted != installed {
            let named = match field {
                "image" => named_images(cluster_version, &wanted, installed),
                _ => [wanted, installed.to_owned()],
            };
            let field = if named.iter().any(|name| name.contains('@')) { field } else { "version" };
            let [wanted, installed] = named;
            return Err(format!("the desired {field} is `{wanted}`, but `{installed}` is installed"));
        }
    }
    if latest["state"] != "Completed" {
        return Err(format!("the update to {} is {}", text(&latest["version"]), text(&latest["state"])));
    }
    match condition::find_in_status(cluster_version, "Progressing") {
        Some(progressing) if progressing["status"] == "False" => Ok(()),
        Some(_) => Err(format!("the update to {} is not over", text(&latest["version"]))),
        None => Err("there is no condition Progressing".to_owned()),
    }
}

/// The architecture of the installed release. Releases before 4.21 name it only in the message of ReleaseAccepted, and a
/// load of a Multi release always ends with such a message.
fn installed_architecture(status: &Value) -> Option<&str> {
    let accepted = || {
        let accepted = condition::find(status["conditions"].as_array()?, "ReleaseAccepted")?;
        let (_, name) = accepted["message"].as_str()?.split_once(" architecture=\"")?;
        name.strip_suffix('"')
    };
    status["desired"]["architecture"].as_str().or_else(accepted)
}

/// Suggests the condition type nearest to the missing one.
fn hint(conditions: Option<&Vec<Value>>, missing: &str) -> String {
    let kinds = conditions.into_iter().flatten().filter_map(|condition| condition["type"].as_str());
    did_you_mean(missing, kinds)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn has_word_rejects_the_start_of_a_longer_word() {
        let texts =
            ["type: Health", "type: \"Health\"\nx", "Healthy, Health", "type: Healthy", "Healthä", ""];
        let found = texts.map(|text| has_word(text, "Health"));
        assert_eq!(found, [true, true, true, false, false, false]);
    }

    #[test]
    fn a_missing_condition_is_reported_with_the_nearest_type() {
        let found = json!({ "status": { "conditions": [
            { "type": "Available", "status": "True" }, { "type": "ReleaseAccepted", "status": "True" },
        ] } });
        let check = |kind: &str| {
            let check = Check::Condition { kind: kind.to_owned(), status: None, reason: None, message: None };
            check_all(&found, None, &[check]).unwrap_err()
        };
        assert_eq!(
            check("ReleaseAcepted"),
            "there is no condition ReleaseAcepted; did you mean `ReleaseAccepted`?"
        );
        assert_eq!(check("Upgradeable"), "there is no condition Upgradeable");
    }

    #[test]
    fn an_update_is_done_when_the_desired_release_is_installed() {
        let cluster_version = |desired: Value, state: &str, progressing: &str| {
            json!({
                "metadata": { "generation": 5 },
                "spec": { "channel": "stable-4.14", "desiredUpdate": desired },
                "status": {
                    // The channel changed later, which needs no apply.
                    "observedGeneration": 4,
                    "conditions": [{ "type": "Progressing", "status": progressing }],
                    "desired": { "version": "4.14.8" },
                    "history": [{ "state": state, "version": "4.14.8", "image": "r@sha256:8" }],
                },
            })
        };
        let check = |desired: Value, state: &str, progressing: &str| {
            check_all(&cluster_version(desired, state, progressing), None, &[Check::Updated])
        };
        for desired in
            [json!(null), json!({ "version": "4.14.8" }), json!({ "image": "r@sha256:8", "version": "" })]
        {
            assert_eq!(check(desired, "Completed", "False"), Ok(()));
        }
        let desired = || json!({ "version": "4.14.9" });
        assert_eq!(
            check(desired(), "Completed", "False"),
            Err("the desired version is `4.14.9`, but `4.14.8` is installed".to_owned())
        );
        assert!(check(json!({ "image": "r@sha256:9" }), "Completed", "False").is_err());
        let multi = || json!({ "version": "4.14.8", "architecture": "Multi" });
        assert!(check(multi(), "Completed", "False").is_err());
        for (architecture, is_done) in [("amd64", false), ("Multi", true)] {
            let mut reported = cluster_version(multi(), "Completed", "False");
            reported["status"]["desired"]["architecture"] = json!(architecture);
            assert_eq!(check_all(&reported, None, &[Check::Updated]).is_ok(), is_done);
            let mut accepted = cluster_version(multi(), "Completed", "False");
            let message =
                format!("Payload loaded version=\"4.14.8\" image=\"x\" architecture=\"{architecture}\"");
            let conditions = accepted["status"]["conditions"].as_array_mut().unwrap();
            conditions.push(json!({ "type": "ReleaseAccepted", "status": "True", "message": message }));
            assert_eq!(check_all(&accepted, None, &[Check::Updated]).is_ok(), is_done);
        }
        let partial = r#"the update to 4.14.8 is Partial; Progressing=True """#;
        assert_eq!(check(json!(null), "Partial", "True"), Err(partial.to_owned()));
        let mut rejected = cluster_version(desired(), "Completed", "False");
        let conditions = rejected["status"]["conditions"].as_array_mut().unwrap();
        conditions
            .push(json!({ "type": "ReleaseAccepted", "status": "False", "reason": "PreconditionChecks" }));
        let why = check_all(&rejected, None, &[Check::Updated]).unwrap_err();
        assert!(why.ends_with(r#"; ReleaseAccepted=False PreconditionChecks """#), "{why}");
        assert!(check(json!(null), "Completed", "True").is_err());
    }
}
