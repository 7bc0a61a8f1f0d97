//! When: labels, annotations and patches of objects.

use cucumber::gherkin::Step;
use cucumber::when;
use serde_json::{Map, Value, json};
use windtunnel_core::yaml;

use super::aliases::filled;
use crate::plan::Action;
use crate::steps::phrase::{docstring, object};
use crate::steps::world::{ClusterWorld, StepError};

/// Sets labels or annotations of an object of any kind, or of all objects whose name begins like that. A name
/// with `-` behind it removes the entry, as in `kubectl`.
///
/// ```gherkin
/// When I label Node/worker-0 with "topology.kubernetes.io/zone=a"
/// When I label Pod/default/web-* with "tier=gold, old-"
/// When I annotate ClusterOperator/dns with "windtunnel.dev/fault-"
/// ```
#[when(regex = r#"^(?:at \d+ \w+ )?I (label|annotate) ([A-Z]\S+) with "([^"]+)"$"#)]
async fn set_entries(
    world: &mut ClusterWorld,
    what: String,
    name: String,
    entries: String,
    step: &Step,
) -> Result<(), StepError> {
    let object = object(&world.kinds, &name)?;
    let field = if what == "label" { "labels" } else { "annotations" };
    let patch = json!({ "metadata": { (field): entries_patch(&entries)? } });
    world.act(&step.value, Action::Patch { object, patch, status: false }).await
}

/// Merges a patch, as YAML or JSON, into an object of any kind, or into all objects whose name begins like that.
/// A value `null` removes a field. `the status of` sends it to the subresource `status`, as an operator does.
///
/// ```gherkin
/// When I patch Deployment/default/web with '{"spec": {"replicas": 3}}'
/// When I patch MachineConfigPool/worker with:
/// When I patch the status of ClusterVersion/version with '{"status": {"capabilities": {"enabledCapabilities": []}}}'
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?I patch (the status of )?([A-Z]\S+) with(?: '(.+)'|:)$")]
async fn patch(
    world: &mut ClusterWorld,
    status: String,
    name: String,
    text: String,
    step: &Step,
) -> Result<(), StepError> {
    let object = object(&world.kinds, &name)?;
    let text = if text.is_empty() { docstring(step.docstring.as_ref())? } else { &text };
    let patch = parse_patch(&filled(text))?;
    world.act(&step.value, Action::Patch { object, patch, status: !status.is_empty() }).await
}

/// Parses `a=b, c-`, entries to set and to remove.
fn entries_patch(text: &str) -> Result<Value, StepError> {
    let mut entries = Map::new();
    for entry in text.split(", ").map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, value) = match (entry.split_once('='), entry.strip_suffix('-')) {
            (Some((name, value)), _) => (name, json!(filled(value))),
            (None, Some(name)) => (name, Value::Null),
            (None, None) => {
                return Err(StepError::Usage(format!(
                    "expected entries such as `tier=gold`, or `tier-` to remove one, found `{entry}`"
                )));
            }
        };
        entries.insert(name.to_owned(), value);
    }
    Ok(Value::Object(entries))
}

fn parse_patch(text: &str) -> Result<Value, StepError> {
    let patch: Value = yaml::from_str(text)
        .map_err(|error| error.with_advice_on_size("split it into patches of several steps"))
        .map_err(|error| StepError::Usage(format!("the patch is not valid YAML: {error}")))?;
    if patch.is_object() {
        return Ok(patch);
    }
    Err(StepError::Usage(format!(
        "expected a map such as `spec: {{paused: true}}` as patch, found `{}`",
        text.trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_entries_to_set_and_to_remove() {
        assert_eq!(
            entries_patch("a=b, c-, d=1=2, e=").unwrap(),
            json!({ "a": "b", "c": null, "d": "1=2", "e": "" })
        );
        let error = entries_patch("a").unwrap_err().to_string();
        assert_eq!(error, "expected entries such as `tier=gold`, or `tier-` to remove one, found `a`");
    }

    #[test]
    fn rejects_patches_that_are_no_map() {
        assert_eq!(parse_patch("spec: {paused: true}").unwrap(), json!({ "spec": { "paused": true } }));
        let error = parse_patch("paused").unwrap_err().to_string();
        assert_eq!(error, "expected a map such as `spec: {paused: true}` as patch, found `paused`");
        assert!(parse_patch("{").unwrap_err().to_string().starts_with("the patch is not valid YAML: "));
    }
}
