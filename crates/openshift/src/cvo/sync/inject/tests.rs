//! Tests of injected environment variables.

use super::*;

fn proxy(http: &str, https: &str, no: &str) -> Value {
    json!({ "status": { "httpProxy": http, "httpsProxy": https, "noProxy": no } })
}

fn workload(kind: &str, into: &str) -> Value {
    json!({
        "kind": kind,
        "metadata": { "name": "a", "annotations": { INTO: into } },
        "spec": { "template": { "spec": {
            "containers": [{ "name": "main", "env": [{ "name": "A", "value": "1" }] }, { "name": "side" }],
            "initContainers": [{ "name": "first" }],
        } } },
    })
}

/// The containers with their environments as `name: variables`.
fn environments(object: &Value) -> String {
    let spec = &object["spec"]["template"]["spec"];
    let all =
        ["containers", "initContainers"].map(|field| spec[field].as_array().cloned().unwrap_or_default());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let lines = all.concat().into_iter().map(|container| {
        let variables = container["env"].as_array().cloned().unwrap_or_default();
        let variables: Vec<String> = variables
            .iter()
            .map(|variable| format!("{}={}", text(&variable["name"]), text(&variable["value"])))
            .collect();
        format!("{}: {}", text(&container["name"]), variables.join(" "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

fn injected(object: &Value, proxy: &Value) -> Result<String, String> {
    let around = Surroundings { proxy, infrastructure: &Value::Null };
    into(object, around).map(|object| environments(&object))
}

#[test]
fn injects_proxy_variables_into_the_annotated_containers() {
    let proxy = proxy("http://p", "", ".svc,10.0.0.0/16");
    let variables = "HTTP_PROXY=http://p HTTPS_PROXY=- NO_PROXY=.svc,10.0.0.0/16";
    for kind in ["Deployment", "DaemonSet"] {
        let expected = format!("main: A=1 {variables}; side: ; first: {variables}");
        assert_eq!(injected(&workload(kind, "main,first"), &proxy), Ok(expected));
    }
    let untouched = Ok("main: A=1; side: ; first: ".to_owned());
    assert_eq!(injected(&workload("StatefulSet", "main"), &proxy), untouched);
    assert_eq!(injected(&workload("Deployment", ""), &proxy), untouched);
}

#[test]
fn without_a_proxy_injects_nothing_and_ignores_missing_containers() {
    let untouched = Ok("main: A=1; side: ; first: ".to_owned());
    for nothing in [Value::Null, json!({}), proxy("", "", "")] {
        assert_eq!(injected(&workload("Deployment", "main,absent"), &nothing), untouched);
    }
    let object = workload("Deployment", "main");
    let around = Surroundings { proxy: &Value::Null, infrastructure: &Value::Null };
    assert!(matches!(into(&object, around), Ok(Cow::Borrowed(_))));
}

#[test]
fn reports_a_missing_container_by_its_exact_name() {
    let proxy = proxy("", "", "*");
    for (into, missing) in [("main,absent", "absent"), ("main, side", " side"), ("main,", "")] {
        let expected = format!("expected a container {missing:?}, found none");
        assert_eq!(injected(&workload("Deployment", into), &proxy), Err(expected));
    }
}

fn own(environment: &Value) -> Value {
    let container = json!({ "name": NAME, "env": environment });
    json!({
        "kind": "Deployment",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": { "template": { "spec": { "containers": [container] } } },
    })
}

#[track_caller]
fn check_own(environment: &Value, address: &str, expected: &str) {
    let infrastructure = json!({ "status": { "apiServerInternalURI": address } });
    let around = Surroundings { proxy: &Value::Null, infrastructure: &infrastructure };
    let found = into(&own(environment), around).map(|object| environments(&object));
    assert_eq!(found.unwrap_or_else(|error| error), expected);
}

#[test]
fn injects_the_internal_api_address_into_the_operator_deployment() {
    let shipped = json!([
        { "name": "KUBERNETES_SERVICE_PORT", "value": "1" }, { "name": "B" },
        { "name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1" },
    ]);
    let with = |port: &str, host: &str| {
        format!("{NAME}: KUBERNETES_SERVICE_PORT={port} B=- KUBERNETES_SERVICE_HOST={host}")
    };
    check_own(&shipped, "https://api-int.a.example.com:6443", &with("6443", "api-int.a.example.com"));
    check_own(&shipped, "https://api-int.a.example.com/x", &with("443", "api-int.a.example.com"));
    check_own(&shipped, "https://[fd00::1]:6443", &with("6443", "fd00::1"));
    check_own(&shipped, "", &with("1", "127.0.0.1"));
    let appended = format!("{NAME}: KUBERNETES_SERVICE_PORT=6443 KUBERNETES_SERVICE_HOST=a");
    check_own(&json!([]), "https://a:6443", &appended);
    check_own(&json!([]), "https://a:b:1", "expected host and port of the API, found \"a:b:1\"");
}

#[test]
fn reports_a_missing_operator_container() {
    let infrastructure = json!({ "status": { "apiServerInternalURI": "https://a:1" } });
    let mut object = own(&json!([]));
    object["spec"]["template"]["spec"]["containers"][0]["name"] = json!("other");
    let around = Surroundings { proxy: &Value::Null, infrastructure: &infrastructure };
    let expected = format!("expected a container {NAME:?}, found none");
    assert_eq!(into(&object, around).unwrap_err(), expected);
    assert!(
        can_inject(&object)
            && !can_inject(&workload("Deployment", ""))
            && can_inject(&workload("DaemonSet", "x"))
    );
}
