//! Tests of the errors of CustomResourceDefinitions, except for those of schemas.

use serde_json::{Value, json};

use super::*;

/// A valid definition.
fn definition() -> Value {
    json!({
        "metadata": { "name": "widgets.example.io" },
        "spec": {
            "group": "example.io", "scope": "Cluster",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "conversion": { "strategy": "None" },
            "versions": [version("v1", true)],
        },
        "status": { "storedVersions": ["v1"] },
    })
}

fn version(name: &str, storage: bool) -> Value {
    json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": {
        "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "color": { "type": "string" }, "list": { "type": "array", "items": { "type": "string" } } } } } } } })
}

/// The errors of a definition with one value replaced.
fn with(pointer: &str, value: Value) -> Vec<String> {
    let mut crd = definition();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    crd.pointer_mut(parent).unwrap()[field] = value;
    texts(&crd, None)
}

fn texts(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let profile = Profile::of(36, false);
    check(crd, old, &profile).iter().map(|error| error.text(&profile)).collect()
}

#[test]
fn accepts_a_plain_definition() {
    assert_eq!(texts(&definition(), None), Vec::<String>::new());
}

#[test]
fn names_must_be_labels_and_the_group_a_domain() {
    assert_eq!(
        with("/spec/group", json!("io")),
        [
            "metadata.name: Invalid value: \"widgets.example.io\": must be spec.names.plural+\".\"+spec.group",
            "spec.group: Invalid value: \"io\": should be a domain with at least one dot",
        ]
    );
    let wrong = with("/spec/names/shortNames", json!(["Wi"]));
    assert!(
        wrong[0].starts_with("spec.names.shortNames[0]: Invalid value: \"Wi\": a DNS-1035 label"),
        "{wrong:?}"
    );
    assert_eq!(
        with("/spec/names/listKind", json!("Widget")),
        ["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"]
    );
    let wrong = with("/spec/names/kind", json!("1Widget"));
    assert!(
        wrong[0].contains("may have mixed case, but should otherwise match: a DNS-1035 label"),
        "{wrong:?}"
    );
}

#[test]
fn an_invalid_version_name_is_reported_for_the_version_and_the_definition() {
    let found = with("/spec/versions/0/name", json!("V1"));
    let fields: Vec<&str> = found.iter().filter_map(|text| text.split(": ").next()).collect();
    assert_eq!(
        fields,
        ["spec.versions[0].name", "spec.version", "status.storedVersions", "status.storedVersions[0]"]
    );
}

#[test]
fn columns_need_a_name_a_type_and_a_path() {
    let at = "spec.additionalPrinterColumns[0]";
    assert_eq!(
        with(
            "/spec/versions/0/additionalPrinterColumns",
            json!([{ "type": "text", "format": "x", "jsonPath": "a" }])
        ),
        [
            format!("{at}.name: Required value"),
            format!("{at}.type: Invalid value: \"text\": must be one of boolean,date,integer,number,string"),
            format!(
                "{at}.format: Invalid value: \"x\": must be one of \
                 byte,date,date-time,double,float,int32,int64,password"
            ),
            format!("{at}.JSONPath: Invalid value: \"a\": must be a simple json path starting with ."),
        ]
    );
}

#[test]
fn scale_paths_must_be_below_spec_or_status() {
    let at = "spec.subresources.scale";
    assert_eq!(
        with(
            "/spec/versions/0/subresources",
            json!({ "scale": {
            "specReplicasPath": ".foo", "labelSelectorPath": "x" } })
        ),
        [
            format!("{at}.specReplicasPath: Invalid value: \".foo\": should be a json path under .spec"),
            format!("{at}.statusReplicasPath: Required value"),
            format!(
                "{at}.labelSelectorPath: Invalid value: \"x\": must be a simple json path starting with ."
            ),
        ]
    );
}

#[test]
fn selectable_fields_must_be_unique_scalars_outside_of_metadata() {
    let fields: Vec<Value> =
        [".spec.color", ".spec.color", ".spec.nope", ".spec.list", "spec", ".spec.list[0]"]
            .iter()
            .map(|path| json!({ "jsonPath": path }))
            .collect();
    let at = |index: usize| format!("spec.selectableFields[{index}].jsonPath");
    assert_eq!(
        with("/spec/versions/0/selectableFields", json!(fields)),
        [
            format!("{}: Duplicate value: \".spec.color\"", at(1)),
            format!(
                "{}: Invalid value: \".spec.nope\": is an invalid path: does not refer to a valid field",
                at(2)
            ),
            format!(
                "{}: Invalid value: \".spec.list\": must point to a field of type string, boolean or integer. Enum \
                 string fields and strings with formats are allowed.",
                at(3)
            ),
            format!("{}: Invalid value: \"spec\": is an invalid path: expected [ or . but got: spec", at(4)),
            format!(
                "{}: Invalid value: \".spec.list[0]\": is an invalid path: array notation is not allowed",
                at(5)
            ),
        ]
    );
}

#[test]
fn webhook_conversion_needs_a_client_and_review_versions() {
    assert_eq!(
        with("/spec/conversion", json!({ "strategy": "Webhook" })),
        [
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ]
    );
    assert_eq!(
        with(
            "/spec/conversion",
            json!({ "strategy": "Webhook", "webhook": {
            "clientConfig": { "url": "http://u@h?q" }, "conversionReviewVersions": ["v9"] } })
        ),
        [
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL \
             scheme; desired format: https://host[/path]",
            "spec.conversion.webhookClientConfig.url: Invalid value: \"u\": user information is not permitted in the \
             URL",
            "spec.conversion.webhookClientConfig.url: Invalid value: \"q\": query parameters are not permitted in \
             the URL",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, \
             v1beta1",
        ]
    );
    assert_eq!(
        with("/spec/conversion", json!({ "strategy": "Magic" })),
        ["spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\""]
    );
}

#[test]
fn community_groups_need_an_approval() {
    let mut crd = definition();
    crd["spec"]["group"] = json!("example.k8s.io");
    crd["metadata"]["name"] = json!("widgets.example.k8s.io");
    assert_eq!(
        texts(&crd, None),
        [
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval \
          annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111"
        ]
    );
    assert_eq!(texts(&crd, Some(&crd.clone())), Vec::<String>::new(), "what was there before may stay");
    for (annotation, count) in
        [("nonsense", 1), ("unapproved, a test", 0), ("https://github.com/x/y/pull/1", 0)]
    {
        crd["metadata"]["annotations"] = json!({ "api-approved.kubernetes.io": annotation });
        assert_eq!(texts(&crd, None).len(), count, "{annotation}");
    }
}

#[test]
fn only_deprecated_versions_may_have_a_warning() {
    let at = "spec.versions[0].deprecationWarning";
    assert_eq!(
        with("/spec/versions/0/deprecationWarning", json!("old")),
        [format!("{at}: Invalid value: \"old\": can only be set for deprecated versions")]
    );
}

#[test]
fn errors_show_versions_in_the_internal_form() {
    let mut crd = definition();
    crd["spec"]["versions"] = json!([version("v1", true), version("v2", true)]);
    let found = texts(&crd, None);
    let encoded = |name: &str| {
        format!(
            r#"{{"Name":"{name}","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#
        )
    };
    assert_eq!(
        found,
        [
            format!(
                "spec.versions: Invalid value: [{},{}]: must have exactly one version marked as storage version",
                encoded("v1"),
                encoded("v2")
            ),
            "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v2".to_owned(),
        ]
    );
}

#[test]
fn the_scope_is_immutable_once_established() {
    let mut old = definition();
    let mut crd = definition();
    crd["spec"]["scope"] = json!("Namespaced");
    assert_eq!(texts(&crd, Some(&old)), Vec::<String>::new());
    old["status"]["conditions"] = json!([{ "type": "Established", "status": "True" }]);
    assert_eq!(texts(&crd, Some(&old)), ["spec.scope: Invalid value: \"Namespaced\": field is immutable"]);
}
