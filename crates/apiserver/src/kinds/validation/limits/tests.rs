//! Tests of quotas, limit ranges and disruption budgets.

use serde_json::{Value, json};

use super::{budget, limit_range, quota};
use crate::kinds::validation::examples::{errors, rejects, rejects_updates};

#[test]
fn quotas_limit_known_resources_in_scopes_that_have_them() {
    let valid = json!({ "spec": { "hard": { "pods": "5" } } });
    rejects(
        quota::resource_quota,
        &valid,
        &[
            (
                json!({ "spec": { "hard": { "foo": "1" } } }),
                "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified; spec.hard[foo]: \
             Invalid value: \"foo\": must be a standard resource for quota",
            ),
            (
                json!({ "spec": { "hard": { "count/jobs.batch": "1500m", "cpu": "-1" } } }),
                "spec.hard[count/jobs.batch]: Invalid value: \"1500m\": must be an integer; spec.hard[cpu]: Invalid value: \
             \"-1\": must be greater than or equal to 0",
            ),
            (
                json!({ "spec": { "hard": { "cpu": "1" }, "scopes": ["BestEffort"] } }),
                "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource",
            ),
            (
                json!({ "spec": { "scopes": ["Terminating", "NotTerminating"] } }),
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes",
            ),
            (
                json!({ "spec": { "scopes": ["X"] } }),
                "spec.scopes: Invalid value: [\"X\"]: unsupported scope",
            ),
        ],
    );
    rejects_updates(
        quota::resource_quota,
        &valid,
        &[(
            json!({ "spec": { "scopes": ["BestEffort"] } }),
            "spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable",
        )],
    );
    let status = json!({ "status": { "hard": { "foo": "1" }, "used": { "pods": "-1" } } });
    assert!(errors(quota::status, &status, None, 36).contains("status.used[pods]: Invalid value: \"-1\""));
}

#[test]
fn scope_selectors_have_values_where_their_operator_needs_them() {
    let selector = |one: Value| json!({ "spec": { "hard": { "pods": "1" }, "scopeSelector": { "matchExpressions": [one] } } });
    let at = "spec.scopeSelector.matchExpressions";
    for (one, wanted) in [
        (
            json!({ "scopeName": "PriorityClass", "operator": "In" }),
            format!(
                "{at}.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            ),
        ),
        (
            json!({ "scopeName": "PriorityClass", "operator": "Exists", "values": ["a"] }),
            format!(
                "{at}.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            ),
        ),
        (
            json!({ "scopeName": "X", "operator": "Y" }),
            format!(
                "{at}.scopeName: Invalid value: \"X\": unsupported scope; {at}.operator: Invalid value: \"Y\": not a valid selector operator"
            ),
        ),
        (
            json!({ "scopeName": "VolumeAttributesClass", "operator": "Exists" }),
            format!(
                "{at}: Invalid value: {{\"MatchExpressions\":[{{\"ScopeName\":\"VolumeAttributesClass\",\"Operator\":\"Exists\",\
                 \"Values\":null}}]}}: unsupported scope applied to resource"
            ),
        ),
    ] {
        assert_eq!(errors(quota::resource_quota, &selector(one), None, 36), wanted);
    }
}

#[test]
fn new_quotas_warn_about_requests_above_limits() {
    let mut found = Vec::new();
    let object = json!({ "spec": { "hard": { "cpu": "2", "limits.cpu": "1" } } });
    quota::warn(&object, None, 36, &mut found);
    assert_eq!(found, ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]);
}

#[test]
fn limit_ranges_are_in_order() {
    let limits = |one: Value| json!({ "spec": { "limits": [one] } });
    let valid = limits(json!({ "type": "Container", "max": { "cpu": "2" }, "min": { "cpu": "1" } }));
    rejects(
        limit_range::limit_range,
        &valid,
        &[
            (
                limits(json!({ "type": "Container", "max": { "cpu": "1" }, "min": { "cpu": "2" } })),
                "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
            ),
            (
                limits(
                    json!({ "type": "Pod", "max": { "cpu": "2" }, "min": { "cpu": "1" }, "maxLimitRequestRatio": { "cpu": "3" } }),
                ),
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000",
            ),
            (
                limits(json!({ "type": "Pod", "default": { "cpu": "2" } })),
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
            ),
            (
                limits(
                    json!({ "type": "Container", "default": { "a.b/c": "2" }, "defaultRequest": { "a.b/c": "1" } }),
                ),
                "spec.limits[0].defaultRequest[a.b/c]: Invalid value: \"1\": default value 2 must equal to defaultRequest value \
             1 in a.b/c",
            ),
            (
                limits(json!({ "type": "PersistentVolumeClaim", "max": { "foo": "1" } })),
                "spec.limits[0].max[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified; \
             spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was \
             provided",
            ),
        ],
    );
}

#[test]
fn budgets_have_one_bound_and_conditions_with_reasons() {
    let valid = json!({ "spec": { "minAvailable": 1, "selector": { "matchLabels": { "a": "b" } } } });
    rejects(
        budget::budget,
        &valid,
        &[
            (
                json!({ "spec": { "maxUnavailable": "50%" } }),
                "spec: Invalid value: {\"MinAvailable\":1,\"Selector\":{\"matchLabels\":{\"a\":\"b\"}},\"MaxUnavailable\":\"50%\",\
             \"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set",
            ),
            (
                json!({ "spec": { "minAvailable": "101%" } }),
                "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%",
            ),
            (
                json!({ "spec": { "unhealthyPodEvictionPolicy": "X" } }),
                "spec.unhealthyPodEvictionPolicy: Unsupported value: \"X\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"",
            ),
        ],
    );
    let status = json!({ "status": { "conditions": [{ "type": "A", "status": "X", "reason": "a b" }, { "type": "A", "status": "True" }], "expectedPods": -1 } });
    let found = errors(budget::status, &status, None, 36);
    for wanted in [
        "status.conditions[0].status: Unsupported value: \"X\": supported values: \"False\", \"True\", \"Unknown\"",
        "status.conditions[0].lastTransitionTime: Required value",
        "status.conditions[0].reason: Invalid value: \"a b\": a condition reason must start with alphabetic character",
        "status.conditions[1].type: Duplicate value: \"A\"",
        "status.conditions[1].reason: Required value",
        "status.expectedPods: Invalid value: -1: must be greater than or equal to 0",
    ] {
        assert!(found.contains(wanted), "{wanted} in {found}");
    }
}
