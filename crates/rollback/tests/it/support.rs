//! Small definitions, and checks of them.
#![expect(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]

use serde_json::{Value, json};
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::release::Release;
use windtunnel_rollback::trap::Trap;

/// A definition.
pub(crate) struct Kind(pub(crate) Value);

impl Kind {
    /// A definition with a version `v1` of this schema and a status subresource.
    pub(crate) fn new(schema: Value) -> Self {
        Self(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "lamps.example.com" },
            "spec": {
                "group": "example.com", "scope": "Cluster",
                "names": { "plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": schema } }],
            },
        }))
    }

    /// A definition with a schema of `spec.value`, another field of the spec and one of the status.
    pub(crate) fn with_value(value: Value) -> Self {
        let other = json!({ "type": "integer" });
        Self::new(json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": { "value": value, "other": other } },
            "status": { "type": "object", "properties": { "observed": other } } } }))
    }

    /// The same definition with this value at a JSON pointer.
    pub(crate) fn set(mut self, pointer: &str, value: Value) -> Self {
        *self.0.pointer_mut(pointer).expect("the place exists") = value;
        self
    }
}

/// The fields of both objects.
pub(crate) fn merged(mut one: Value, two: Value) -> Value {
    let fields = one.as_object_mut().expect("an object");
    fields.extend(two.as_object().cloned().expect("an object"));
    one
}

/// A release with one definition.
pub(crate) fn release(name: &str, kubernetes: u32, kind: &Kind) -> Release {
    let mut release = Release::new(name, kubernetes);
    release.add_object(&kind.0).expect("a definition");
    release
}

/// The traps of a rollback between two definitions, judged by this minor.
pub(crate) fn check(newer: &Kind, older: &Kind, kubernetes: u32) -> Vec<Trap> {
    let (newer, older) = (release("newer", kubernetes, newer), release("older", kubernetes, older));
    let check = Check::new(newer, older, Options::judged_by(kubernetes));
    let findings = check.definition("lamps.example.com");
    assert_eq!(findings.rejected_definitions, []);
    findings.traps
}

/// The only trap with this difference.
pub(crate) fn trap<'t>(traps: &'t [Trap], difference: &str) -> &'t Trap {
    let found: Vec<&Trap> = traps.iter().filter(|trap| trap.difference == difference).collect();
    assert_eq!(found.len(), 1, "{difference}: {traps:#?}");
    found[0]
}
