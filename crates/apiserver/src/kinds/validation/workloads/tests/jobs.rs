//! Tests of the specifications of Jobs.

use serde_json::{Value, json};

use super::template;
use crate::kinds::validation::examples::{patched, rejects, rejects_updates};
use crate::kinds::validation::workloads::job::job;

fn valid() -> Value {
    let mut object = json!({
        "metadata": { "name": "x", "uid": "u" },
        "spec": {
            "parallelism": 1, "completions": 3, "backoffLimit": 6, "completionMode": "Indexed", "manualSelector": false,
            "selector": { "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } },
            "template": template("Never"),
        },
    });
    let labels = json!({
        "controller-uid": "u", "job-name": "x", "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "x",
    });
    object["spec"]["template"]["metadata"]["labels"] = labels;
    object
}

#[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
fn spec(patch: Value) -> Value {
    json!({ "spec": patch })
}

#[test]
fn limits_depend_on_the_completion_mode() {
    rejects(
        job,
        &valid(),
        &[
            (
                spec(json!({ "completionMode": "X" })),
                "spec.completionMode: Unsupported value: \"X\": supported values: \"NonIndexed\", \"Indexed\"",
            ),
            (
                spec(json!({ "completionMode": "NonIndexed", "backoffLimitPerIndex": 1 })),
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
            ),
            (
                spec(json!({ "maxFailedIndexes": 4 })),
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified; spec.maxFailedIndexes: Invalid \
             value: 4: must be less than or equal to completions",
            ),
            (
                spec(json!({ "parallelism": 100_001 })),
                "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
            ),
            (
                spec(json!({ "completions": 100_001, "backoffLimitPerIndex": 1, "parallelism": 10_001 })),
                "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 \
             and used with backoff limit per index; spec.maxFailedIndexes: Required value: must be specified when \
             completions is above 100000",
            ),
            (
                spec(json!({ "completions": null })),
                "spec.completions: Required value: when completion mode is Indexed",
            ),
            (
                json!({ "metadata": { "name": "a.b" }, "spec": { "manualSelector": true } }),
                "metadata.name: Invalid value: \"a.b\": will not able to create pod with invalid DNS label: a.b-2",
            ),
        ],
    );
}

#[test]
fn policies_and_managers_are_well_formed() {
    rejects(
        job,
        &valid(),
        &[
            (
                spec(json!({ "successPolicy": { "rules": [] } })),
                "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is \
             specified",
            ),
            (
                spec(
                    json!({ "successPolicy": { "rules": [{ "succeededIndexes": "0-1", "succeededCount": 3 }] } }),
                ),
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of \
             indexes in the specified succeededIndexes field)",
            ),
            (
                spec(json!({ "successPolicy": { "rules": [{}] } })),
                "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be \
             specified",
            ),
            (
                spec(json!({ "managedBy": "x" })),
                "spec.managedBy: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            ),
            (
                spec(json!({ "podReplacementPolicy": "X" })),
                "spec.podReplacementPolicy: Unsupported value: \"X\": supported values: \"Failed\", \"TerminatingOrFailed\"",
            ),
            (
                spec(json!({ "template": { "spec": { "restartPolicy": "Always" } } })),
                "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
            ),
        ],
    );
}

#[test]
fn failure_policies_match_exit_codes_or_conditions() {
    let rule = |rule: Value| spec(json!({ "podFailurePolicy": { "rules": [rule] } }));
    rejects(
        job,
        &valid(),
        &[
            (
                rule(json!({ "action": "Ignore" })),
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            ),
            (
                rule(
                    json!({ "onExitCodes": { "operator": "In", "values": [2, 0, 2], "containerName": "d" } }),
                ),
                "spec.podFailurePolicy.rules[0].action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \
             \"Ignore\"]; spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"d\": must be one of \
             the container or initContainer names in the pod template; \
             spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator; \
             spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2; \
             spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
            ),
            (
                rule(json!({ "action": "FailIndex", "onPodConditions": [{ "type": "T", "status": "X" }] })),
                "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be \
             set; spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: \"X\": supported values: \
             \"False\", \"True\", \"Unknown\"",
            ),
        ],
    );
    let with_policy = patched(
        &valid(),
        &rule(json!({ "action": "Ignore", "onExitCodes": { "operator": "In", "values": [1] } })),
    );
    rejects(
        job,
        &with_policy,
        &[(
            spec(json!({ "template": { "spec": { "restartPolicy": "OnFailure" } } })),
            "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported when podFailurePolicy \
         is specified",
        )],
    );
}

#[test]
fn the_generated_selector_stays() {
    rejects(
        job,
        &valid(),
        &[
            (
                spec(
                    json!({ "selector": { "matchLabels": { "x": "y" } }, "template": { "metadata": { "labels": { "x": "y" } } } }),
                ),
                "spec.selector: Invalid value: {\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u\",\"x\":\"y\"}}: \
             `selector` not auto-generated",
            ),
            (
                spec(json!({ "template": { "metadata": { "labels": { "job-name": null } } } })),
                "spec.template.metadata.labels[job-name]: Required value: must be 'x'",
            ),
        ],
    );
}

#[test]
fn updates_keep_what_pods_depend_on() {
    rejects_updates(
        job,
        &valid(),
        &[
            (spec(json!({ "parallelism": 2, "suspend": true })), ""),
            (spec(json!({ "completions": 4, "parallelism": 4 })), ""),
            (
                spec(json!({ "completions": 4 })),
                "spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism",
            ),
            (
                spec(json!({ "managedBy": "a.b/c" })),
                "spec.managedBy: Invalid value: \"a.b/c\": field is immutable",
            ),
        ],
    );
    let suspended = patched(&valid(), &spec(json!({ "suspend": true })));
    rejects_updates(
        job,
        &suspended,
        &[(spec(json!({ "template": { "spec": { "nodeSelector": { "a": "b" }, "tolerations": [] } } })), "")],
    );
}
