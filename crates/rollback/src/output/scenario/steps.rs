//! The steps of a scenario around the rollback of a definition.

use serde_json::{Value, json};
use windtunnel_core::patch;

use crate::release::Definition;
use crate::schema::{Place, Spot, get};
use crate::servers::bare;
use crate::trap::{Harm, Trap, Witness};
use crate::trial::Exchange;

/// The name under which a scenario keeps the value that is lost later.
const KEPT: &str = "before";

/// Makes the steps of a trap.
pub(super) struct Steps<'t> {
    trap: &'t Trap,
    witness: &'t Witness,
    /// Whether the kind has the subresource `status` in the newer and in the older release.
    newer_has_status: bool,
    older_has_status: bool,
}

impl<'t> Steps<'t> {
    pub(super) fn new(trap: &'t Trap, witness: &'t Witness, newer: &Definition, older: &Definition) -> Self {
        let api_version = witness.object["apiVersion"].as_str().unwrap_or_default();
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let has_status =
            |definition: &Definition| definition.version(version).is_some_and(|version| version.has_status);
        Self { trap, witness, newer_has_status: has_status(newer), older_has_status: has_status(older) }
    }

    /// The steps before the older definition, and those after it, which fail.
    pub(super) fn around_rollback(&self) -> Result<(Vec<Value>, Vec<Value>), String> {
        let object = &self.witness.object;
        let mut before = create(object, self.newer_has_status);
        let after = match (&self.witness.after, self.trap.harm) {
            (Some(changed), _) => vec![self.change(changed), exists(object)],
            (None, Harm::Status | Harm::Edits) => vec![self.rejected()?, exists(object)],
            (None, Harm::Again) => {
                let mut again = vec![json!({ "delete": reference(object) })];
                again.extend(create(object, self.older_has_status));
                again.push(exists(object));
                again
            }
            (None, Harm::Lost) => {
                let (keep, check) = self.lost()?;
                before.extend(keep);
                vec![label(object), check]
            }
            (None, Harm::Definition | Harm::Note) => return Err("nothing is rejected or lost".to_owned()),
        };
        Ok((before, after))
    }

    /// The change of the witness that the older release rejects.
    fn change(&self, changed: &Value) -> Value {
        let object = &self.witness.object;
        let is_status = self.newer_has_status && object.get("status") != changed.get("status");
        let merge = patch::between(object, changed).unwrap_or_else(|| changed.clone());
        patch_step(object, &section(&merge, is_status), is_status)
    }

    /// The request without relation to the value that the older release rejects.
    fn rejected(&self) -> Result<Value, String> {
        let object = &self.witness.object;
        let is_of_status = |exchange: &Exchange| exchange.path.ends_with("/status");
        let rejected = |exchange: &&Exchange| exchange.is_rejected();
        let mut found = self.witness.exchanges.iter().rev().filter(rejected);
        let exchange = match self.trap.harm {
            Harm::Status => found.find(|exchange| is_of_status(exchange)),
            _ => found.find(|exchange| !is_of_status(exchange) && exchange.method != "POST"),
        };
        let exchange = exchange.ok_or_else(|| "no single request shows it".to_owned())?;
        let is_status = is_of_status(exchange);
        Ok(match exchange.method {
            "PATCH" => label(object),
            _ => patch_step(object, &section(&exchange.body, is_status), is_status),
        })
    }

    /// The step that keeps the value that will be lost, where it is needed, and the expectation that it is still there.
    fn lost(&self) -> Result<(Option<Value>, Value), String> {
        let Witness { object, place, .. } = self.witness;
        let place = Place::parse(place);
        let expect = |path: &str, text: &str| json!({ "expect": { "object": reference(object), "fields": { path: text } } });
        if let Some((path, text)) = leaf(object, &place) {
            return Ok((None, expect(&path, &text)));
        }
        // A text that is empty, a null, or a default: only the object around it shows whether it is there.
        let above = (1..place.0.len()).map(|height| place.above(height));
        let parent = above.into_iter().find(|place| get(object, place).is_some());
        let parent = parent.ok_or_else(|| "nothing around the lost value shows it".to_owned())?.to_string();
        let keep = json!({ "keep": { "as": KEPT, "object": reference(object), "field": parent } });
        Ok((Some(keep), expect(&parent, &format!("$(kept {KEPT})"))))
    }
}

/// The status alone, or everything but the status and the fields that identify an object.
fn section(object: &Value, is_status: bool) -> Value {
    if is_status {
        // Without a status, a patch that changes nothing is judged as well.
        return object.get("status").map_or_else(|| json!({}), |status| json!({ "status": status }));
    }
    let mut rest = object.clone();
    if let Some(fields) = rest.as_object_mut() {
        for field in ["apiVersion", "kind", "metadata", "status"] {
            fields.remove(field);
        }
    }
    rest
}

/// The steps that create an object, with its status.
fn create(object: &Value, has_status: bool) -> Vec<Value> {
    let mut body = bare(object);
    let status = body.as_object_mut().filter(|_| has_status).and_then(|fields| fields.remove("status"));
    let status = status.map(|status| patch_step(object, &json!({ "status": status }), true));
    [json!({ "apply": body })].into_iter().chain(status).collect()
}

fn patch_step(object: &Value, merge: &Value, is_status: bool) -> Value {
    let mut step = json!({ "object": reference(object), "merge": merge });
    if is_status {
        step["subresource"] = json!("status");
    }
    json!({ "patch": step })
}

/// An edit that has nothing to do with the value.
fn label(object: &Value) -> Value {
    patch_step(object, &json!({ "metadata": { "labels": { "edited": "true" } } }), false)
}

/// The expectation that an object exists, because a scenario without an expectation is suspicious.
pub(super) fn exists(object: &Value) -> Value {
    json!({ "expect": { "object": reference(object) } })
}

/// `Kind.group/name` or `Kind.group/namespace/name`: kinds of several groups can have the same name.
fn reference(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (meta, api_version) = (&object["metadata"], text(&object["apiVersion"]));
    let group = api_version.split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    let kind = text(&object["kind"]) + &group;
    let names = [kind, text(&meta["namespace"]), text(&meta["name"])];
    names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
}

/// The first value at a place or below it that a scenario can compare, with its path.
fn leaf(object: &Value, place: &Place) -> Option<(String, String)> {
    match get(object, place)? {
        Value::Object(fields) if !fields.is_empty() => {
            fields.keys().find_map(|name| leaf(object, &place.field(name)))
        }
        Value::Array(items) if !items.is_empty() => (0..items.len()).find_map(|index| {
            let mut inner = place.clone();
            inner.0.push(Spot::Index(index));
            leaf(object, &inner)
        }),
        // They compare as a missing value.
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some((place.to_string(), text.clone())),
        plain => Some((place.to_string(), plain.to_string())),
    }
}
