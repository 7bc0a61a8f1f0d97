//! `windtunnel rollback-check`: its input, its reports, and the page of all of OpenShift's releases.

mod inputs;
mod known_traps;
mod reports;

use crate::cli::environment::TestEnvironment;

/// A definition of lamps whose colours and levels are given.
fn lamps(colours: &str, more: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: lamps.example.com}}\nspec:\n  \
         group: example.com\n  scope: Cluster\n  names: {{plural: lamps, singular: lamp, kind: Lamp, listKind: LampList}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        \
         type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              \
         colour: {{type: string, enum: [{colours}]}}\n              level: {{type: integer}}\n{more}"
    )
}

/// Two releases of lamps: the newer one has another colour and another field.
fn two_releases() -> TestEnvironment {
    let newer = lamps("red, blue", "              name: {type: string}\n");
    TestEnvironment::with(&[("4.16/lamps.yaml", &newer), ("4.15/lamps.yaml", &lamps("red", ""))])
}
