//! When: labels, annotations and patches of objects.

use serde_json::{Map, Value, json};
use windtunnel_core::yaml;

use super::aliases::filled;
use super::definition::{Definition, when};
use crate::plan::{Action, Step};
use crate::steps::phrase::object;

const PATCH_OF_STATUS: &str = "I patch the status of ClusterVersion/version with \
     '{\"status\": {\"capabilities\": {\"enabledCapabilities\": []}}}'";

pub(in crate::steps) const STEPS: &[Definition] = &[
    when(
        r#"{at}I (label|annotate) ([A-Z]\S+) with "([^"]+)""#,
        "Sets labels or annotations of an object of any kind, or of all objects whose name begins like \
         that. A name with `-` behind it removes the entry, as in `kubectl`.",
        &[
            r#"I label Node/worker-0 with "topology.kubernetes.io/zone=a""#,
            r#"I label Pod/default/web-* with "tier=gold, old-""#,
            r#"I annotate ClusterOperator/dns with "windtunnel.dev/fault-""#,
        ],
        |world, call| {
            let [what, name, entries] = call.values();
            let object = object(&world.kinds, &name)?;
            let field = if what == "label" { "labels" } else { "annotations" };
            let patch = json!({ "metadata": { (field): entries_patch(&entries)? } });
            Ok(Step::Act(Action::Patch { object, patch, status: false }))
        },
    ),
    when(
        r"{at}I patch (the status of )?([A-Z]\S+) with(?: '(.+)'|:)",
        "Merges a patch, as YAML or JSON, into an object of any kind, or into all objects whose name \
         begins like that. A value `null` removes a field. `the status of` sends it to the subresource \
         `status`, as an operator does.",
        &[
            r#"I patch Deployment/default/web with '{"spec": {"replicas": 3}}'"#,
            "I patch MachineConfigPool/worker with:",
            PATCH_OF_STATUS,
        ],
        |world, call| {
            let [status, name, text] = call.values();
            let object = object(&world.kinds, &name)?;
            let text = if text.is_empty() { call.docstring()? } else { &text };
            let patch = parse_patch(&filled(text))?;
            Ok(Step::Act(Action::Patch { object, patch, status: !status.is_empty() }))
        },
    ),
];

/// Parses `a=b, c-`, entries to set and to remove.
fn entries_patch(text: &str) -> Result<Value, String> {
    let mut entries = Map::new();
    for entry in text.split(", ").map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, value) = match (entry.split_once('='), entry.strip_suffix('-')) {
            (Some((name, value)), _) => (name, json!(filled(value))),
            (None, Some(name)) => (name, Value::Null),
            (None, None) => {
                return Err(format!(
                    "expected entries such as `tier=gold`, or `tier-` to remove one, found `{entry}`"
                ));
            }
        };
        entries.insert(name.to_owned(), value);
    }
    Ok(Value::Object(entries))
}

fn parse_patch(text: &str) -> Result<Value, String> {
    let patch: Value = yaml::from_str(text)
        .map_err(|error| error.with_advice_on_size("split it into patches of several steps"))
        .map_err(|error| {
            let (line, column) = (error.line.max(1), error.column.max(1));
            format!(
                "the patch is not valid YAML: line {line}, column {column} of the patch: {}",
                error.message
            )
        })?;
    if patch.is_object() {
        return Ok(patch);
    }
    Err(format!("expected a map such as `spec: {{paused: true}}` as patch, found `{}`", text.trim()))
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
        let error = entries_patch("a").unwrap_err();
        assert_eq!(error, "expected entries such as `tier=gold`, or `tier-` to remove one, found `a`");
    }

    #[test]
    fn rejects_patches_that_are_no_map() {
        assert_eq!(parse_patch("spec: {paused: true}").unwrap(), json!({ "spec": { "paused": true } }));
        let error = parse_patch("paused").unwrap_err();
        assert_eq!(error, "expected a map such as `spec: {paused: true}` as patch, found `paused`");
        assert!(parse_patch("{").unwrap_err().starts_with("the patch is not valid YAML: "));
    }
}
