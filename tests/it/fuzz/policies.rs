//! Random policies, quotas and limits, and objects that pass them or not.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::campaign::campaign;
use super::checked_server::{MERGE, ask, server};
use super::dice::Dice;
use super::schemas::rules::{any, truth};
use crate::apiserver::apply::define;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CORE: &str = "/api/v1/namespaces/default";
const AMOUNTS: &[&str] =
    &["0", "1", "500m", "1Gi", "3", "1e3", "100n", "9223372036854775807", "-1", "1Ei", "0.5", "x"];
const RESOURCES: &[&str] = &[
    "cpu",
    "memory",
    "pods",
    "requests.cpu",
    "limits.memory",
    "count/configmaps",
    "configmaps",
    "example.io/gpu",
    "requests.example.io/gpu",
    "count/widgets.example.io",
    "hugepages-2Mi",
    "secrets",
];
/// Expressions of mutations.
const CHANGES: &[&str] = &[
    "Object{metadata: Object.metadata{labels: {'a': string(object.metadata.name)}}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'other'}]}}",
    "Object{data: {'k': dyn(object).?data.a.orValue('none')}}",
    "Object{spec: Object.spec{keyed: [Object.spec.keyed{k: 'z'}]}}",
    "Object{spec: Object.spec{any: {'a': [1, {'b': null}]}}}",
    "Object{metadata: Object.metadata{name: 'x'}}",
    "Object{status: Object.status{phase: 'Running'}}",
    "Object{}",
];
const PATCHES: &[&str] = &[
    "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]",
    "[]",
    "[JSONPatch{op: 'remove', path: '/metadata/name'}]",
    "[JSONPatch{op: 'replace', path: '/spec', value: 1}]",
    "[JSONPatch{op: 'move', from: '/spec', path: '/spec/x'}]",
    "[JSONPatch{op: 'copy', from: '/metadata', path: '/data'}]",
    "[JSONPatch{op: 'test', path: '/kind', value: 'x'}, JSONPatch{op: 'remove', path: '/spec'}]",
    "[JSONPatch{op: 'frob'}]",
    "[JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), value: request.name}]",
    "[JSONPatch{op: 'add', path: '/metadata/finalizers', value: object.metadata}]",
];

/// Expressions that always compile.
const GOOD: &[&str] = &[
    "object.metadata.name != 'c'",
    "has(object.data) && object.data.all(k, k != 'b')",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "oldObject == null || oldObject.metadata.name == object.metadata.name",
    "request.operation",
    "object.spec.containers[0].name.matches('^[a-d]$')",
    "quantity(object.spec.containers[0].resources.limits.cpu).isLessThan(quantity('2'))",
];

fn constraints(dice: &mut Dice) -> Value {
    let operations = dice.pick(&["*", "CREATE", "UPDATE", "DELETE"]);
    json!({ "resourceRules": [{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": [operations],
        "resources": [dice.pick(&["*", "pods", "configmaps", "widgets", "*/*"])] }] })
}

/// A random expression over the object instead of `self`.
fn expression(dice: &mut Dice) -> String {
    if dice.one_in(2) {
        return dice.pick(GOOD).to_owned();
    }
    let text = if dice.one_in(2) { truth(dice) } else { any(dice, 2) };
    let others = ["object.metadata", "request", "variables.v", "authorizer", "params", "object.data"];
    let name = if dice.one_in(4) { dice.pick(&others) } else { "object" };
    text.replace("self", name).replace("oldSelf", "oldObject")
}

/// A random expression, mostly a bool if it compiles.
fn bool_expression(dice: &mut Dice) -> String {
    let text = expression(dice);
    if dice.one_in(6) { text } else { format!("dyn({text}) != dyn(7)") }
}

/// A random expression, mostly a string if it compiles.
fn string_expression(dice: &mut Dice) -> String {
    let text = expression(dice);
    if dice.one_in(6) { text } else { format!("string(dyn({text}))") }
}

fn policy(dice: &mut Dice, mutating: bool) -> Value {
    let mut spec =
        json!({ "failurePolicy": dice.pick(&["Fail", "Ignore"]), "matchConstraints": constraints(dice) });
    if dice.one_in(2) {
        spec["variables"] = json!([{ "name": "v", "expression": expression(dice) }]);
    }
    if dice.one_in(3) {
        spec["matchConditions"] = json!([{ "name": "m", "expression": bool_expression(dice) }]);
    }
    if mutating {
        spec["reinvocationPolicy"] = json!(dice.pick(&["Never", "IfNeeded"]));
        spec["mutations"] = (0..dice.number(1, 3)).map(|_| mutation(dice)).collect();
    } else {
        let message = dice.one_in(3).then(|| string_expression(dice));
        spec["validations"] = json!([{ "expression": bool_expression(dice), "messageExpression": message }]);
        if dice.one_in(3) {
            spec["auditAnnotations"] = json!([{ "key": "k", "valueExpression": string_expression(dice) }]);
        }
    }
    dice.damaged_seldom(json!({ "metadata": { "name": "p" }, "spec": spec }))
}

fn mutation(dice: &mut Dice) -> Value {
    let (kind, field, list) = if dice.one_in(2) {
        ("JSONPatch", "jsonPatch", PATCHES)
    } else {
        ("ApplyConfiguration", "applyConfiguration", CHANGES)
    };
    let text = dice.pick(list);
    let text = if dice.one_in(3) {
        format!("({}) ? {text} : {text}", bool_expression(dice))
    } else {
        text.to_owned()
    };
    let mut mutation = json!({ "patchType": kind });
    mutation[field]["expression"] = json!(text);
    mutation
}

fn amounts(dice: &mut Dice) -> Value {
    (0..dice.number(0, 3)).map(|_| (dice.pick(RESOURCES).to_owned(), json!(dice.pick(AMOUNTS)))).collect()
}

fn quota(dice: &mut Dice) -> Value {
    let scopes = dice
        .one_in(3)
        .then(|| json!([dice.pick(&["BestEffort", "NotBestEffort", "Terminating", "PriorityClass"])]));
    json!({ "metadata": { "name": "q" }, "spec": { "hard": amounts(dice), "scopes": scopes } })
}

fn range(dice: &mut Dice) -> Value {
    let mut limit = json!({ "type": dice.pick(&["Container", "Pod", "PersistentVolumeClaim"]) });
    for field in ["default", "defaultRequest", "min", "max", "maxLimitRequestRatio"] {
        if dice.one_in(3) {
            limit[field] = amounts(dice);
        }
    }
    json!({ "metadata": { "name": "r" }, "spec": { "limits": [limit] } })
}

/// Writes an object that policies, quotas and limits can apply to.
fn write(server: &mut ApiServer, dice: &mut Dice) -> Result<u16, String> {
    let name = dice.pick(&["a", "b", "c"]);
    let resources = json!({ "requests": amounts(dice), "limits": amounts(dice) });
    let pod = json!({ "metadata": { "name": name }, "spec": { "nodeName": "n", "containers": [
        { "name": "c", "image": "i", "resources": resources }] } });
    let map = json!({ "metadata": { "name": name }, "data": { "a": "1" } });
    let widget = json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": name },
        "spec": { "keyed": [{ "k": "a" }] } });
    let written = [
        (format!("{CORE}/pods"), pod),
        (format!("{CORE}/configmaps"), map),
        ("/apis/example.io/v1/widgets".to_owned(), widget),
    ];
    let (path, object) = &written[dice.index(written.len())];
    let named = format!("{path}/{name}");
    let labels = json!({ "metadata": { "labels": { "x": name } } });
    let answer = match dice.number(0, 4) {
        0 | 1 => ask(server, Method::Post, path, "", object)?,
        2 => ask(server, Method::Patch, &named, MERGE, &labels)?,
        3 => ask(server, Method::Post, &format!("{path}?dryRun=All"), "", object)?,
        _ => ask(server, Method::Delete, &format!("{named}?gracePeriodSeconds=0"), "", &Value::Null)?,
    };
    Ok(answer.code)
}

#[test]
fn writes_under_random_policies_quotas_and_limits_get_valid_responses() {
    let (accepted, codes) = (Cell::new(0), RefCell::new(BTreeMap::<u16, u32>::new()));
    campaign("policies::writes_under_random_policies_quotas_and_limits_get_valid_responses", 20, |seed| {
        let mut dice = Dice::new("policies", seed);
        let mut server = server([30, 33, 36, 36, 36][dice.index(5)]);
        define(&mut server, &["v1"]);
        let plurals = ["validatingadmissionpolicies", "mutatingadmissionpolicies"];
        for (index, binding) in
            ["validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"].iter().enumerate()
        {
            let actions = (index == 0).then(|| json!([dice.pick(&["Deny", "Warn", "Audit"])]));
            let object = json!({ "metadata": { "name": "b" }, "spec": { "policyName": "p", "validationActions": actions } });
            ask(&mut server, Method::Post, &format!("{GROUP}/{binding}"), "", &object)?;
        }
        for _ in 0..12 {
            let kind = dice.index(2);
            let plural = format!("{GROUP}/{}", plurals[kind]);
            ask(&mut server, Method::Delete, &format!("{plural}/p"), "", &Value::Null)?;
            let object = policy(&mut dice, kind == 1);
            let stored = ask(&mut server, Method::Post, &plural, "", &object)?.is_good();
            accepted.set(accepted.get() + u32::from(stored));
            for (plural, name, object) in
                [("resourcequotas", "q", quota(&mut dice)), ("limitranges", "r", range(&mut dice))]
            {
                ask(&mut server, Method::Delete, &format!("{CORE}/{plural}/{name}"), "", &Value::Null)?;
                if dice.one_in(2) {
                    ask(&mut server, Method::Post, &format!("{CORE}/{plural}"), "", &object)?;
                }
            }
            for _ in 0..8 {
                let code = write(&mut server, &mut dice)?;
                *codes.borrow_mut().entry(code).or_default() += 1;
            }
        }
        Ok(())
    });
    // Enough must be accepted, and rejected in each way, to prove something.
    let codes = codes.into_inner();
    assert!(accepted.get() > 25, "{} policies", accepted.get());
    assert!([200, 201, 403, 422].iter().all(|code| codes.contains_key(code)), "{codes:?}");
}
