//! Built-in kinds: their versions, subresources and rejections.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Reply, ReplyBody, Request};
use windtunnel_core::Identity;

use super::requests::{define, definition, now, server};

pub(super) fn ask(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> Reply {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin);
    if !body.is_null() {
        request = request.with_body(body);
    }
    if method == Method::Patch {
        request = request.with_content_type("application/merge-patch+json");
    }
    server.handle(&request, now())
}

/// The code and the message of a response; the message may be empty.
pub(super) fn answer(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> (u16, String) {
    let reply = ask(server, method, path, body);
    let text = match &reply.body {
        ReplyBody::Text(text) => text.clone(),
        _ => reply.json().unwrap_or_default()["message"].as_str().unwrap_or_default().to_owned(),
    };
    (reply.code, text)
}

pub(super) fn get(server: &mut ApiServer, path: &str) -> Value {
    ask(server, Method::Get, path, &Value::Null).json().unwrap_or_default()
}

fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": labels },
        "spec": { "nodeName": "n", "containers": [{ "name": "a", "image": "i" }, { "name": "b", "image": "i" }] },
    })
}

const PODS: &str = "/api/v1/namespaces/default/pods";

#[test]
fn served_versions_depend_on_the_minor_while_objects_stay() {
    let mut server = server(24);
    let budget = json!({ "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": { "name": "b" },
        "spec": { "minAvailable": 1 } });
    let old = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets";
    assert_eq!(answer(&mut server, Method::Post, old, &budget), (201, String::new()));
    assert_eq!(get(&mut server, &format!("{old}/b"))["apiVersion"], "policy/v1beta1");
    let warnings = ask(&mut server, Method::Get, &format!("{old}/b"), &Value::Null).warnings;
    let text = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 \
                PodDisruptionBudget";
    assert_eq!(warnings, [text]);
    server.set_kubernetes_minor(25);
    assert_eq!(answer(&mut server, Method::Get, &format!("{old}/b"), &Value::Null).0, 404);
    let new = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
    assert_eq!(get(&mut server, new)["apiVersion"], "policy/v1");
    let versions = |server: &mut ApiServer, group: &str| -> Vec<String> {
        let group = get(server, &format!("/apis/{group}"));
        group["versions"].as_array().into_iter().flatten().map(|one| one["version"].to_string()).collect()
    };
    assert_eq!(versions(&mut server, "policy"), ["\"v1\""]);
    assert_eq!(versions(&mut server, "resource.k8s.io"), [""; 0]);
}

#[test]
fn autoscalers_are_served_in_v1_and_v2() {
    let mut server = server(36);
    let body = json!({ "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "h" },
        "spec": { "maxReplicas": 3, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" },
                  "targetCPUUtilizationPercentage": 50 } });
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    assert_eq!(answer(&mut server, Method::Post, &path("v1"), &body).0, 201);
    let v2 = get(&mut server, &format!("{}/h", path("v2")));
    assert_eq!(v2["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(v2["spec"]["minReplicas"], 1);
    let v1 = get(&mut server, &format!("{}/h", path("v1")));
    assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 50);
    assert_eq!(v1["spec"].get("metrics"), None);
}

#[test]
fn evictions_respect_pod_disruption_budgets() {
    let mut server = server(36);
    let labels = json!({ "app": "x" });
    for name in ["p", "q"] {
        assert_eq!(answer(&mut server, Method::Post, PODS, &pod(name, &labels)).0, 201);
        let running = json!({ "status": { "phase": "Running" } });
        assert_eq!(answer(&mut server, Method::Patch, &format!("{PODS}/{name}/status"), &running).0, 200);
    }
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = |name: &str| {
        json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name },
            "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "x" } } } })
    };
    let eviction =
        |name: &str| json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
    ask(&mut server, Method::Post, budgets, &budget("one"));
    ask(&mut server, Method::Post, budgets, &budget("two"));
    let evict = |server: &mut ApiServer, name: &str| {
        answer(server, Method::Post, &format!("{PODS}/{name}/eviction"), &eviction(name))
    };
    let several =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!(evict(&mut server, "p"), (500, several.to_owned()));
    ask(&mut server, Method::Delete, &format!("{budgets}/two"), &Value::Null);
    let unhealthy =
        json!({ "status": { "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1 } });
    ask(&mut server, Method::Patch, &format!("{budgets}/one/status"), &unhealthy);
    // A pod that is not ready does not count as available.
    assert_eq!(evict(&mut server, "p"), (201, String::new()));
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    ask(&mut server, Method::Patch, &format!("{PODS}/q/status"), &ready);
    let blocked = "Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!(evict(&mut server, "q"), (429, blocked.to_owned()));
    assert_eq!(get(&mut server, &format!("{PODS}/p"))["metadata"]["deletionGracePeriodSeconds"], 30);
}

#[test]
fn custom_resources_are_scaled_by_the_paths_of_their_crd() {
    let mut server = server(36);
    let mut crd = definition(&["a"], false);
    let version = &mut crd["spec"]["versions"][0];
    version["subresources"]["scale"] = json!({
        "specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count", "labelSelectorPath": ".status.pods",
    });
    let count = json!({ "type": "integer" });
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["count"] = count.clone();
    let status = &mut version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    status["count"] = count;
    status["pods"] = json!({ "type": "string" });
    define(&mut server, crd);
    let all = "/apis/example.io/v1/versions";
    let object =
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" }, "spec": {} });
    assert_eq!(answer(&mut server, Method::Post, all, &object).0, 201);
    let scale = format!("{all}/v/scale");
    let none = "Internal error occurred: the spec replicas field \".spec.count\" does not exist";
    assert_eq!(answer(&mut server, Method::Get, &scale, &Value::Null), (500, none.to_owned()));
    ask(&mut server, Method::Patch, &format!("{all}/v"), &json!({ "spec": { "count": 2 } }));
    ask(&mut server, Method::Patch, &format!("{all}/v/status"), &json!({ "status": { "pods": "a=b" } }));
    let shown = get(&mut server, &scale);
    assert_eq!(
        (&shown["spec"], &shown["status"]),
        (&json!({ "replicas": 2 }), &json!({ "replicas": 0, "selector": "a=b" }))
    );
    let wanted = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "v" },
        "spec": { "replicas": 5 } });
    assert_eq!(ask(&mut server, Method::Put, &scale, &wanted).json().unwrap()["spec"]["replicas"], 5);
    let object = get(&mut server, &format!("{all}/v"));
    assert_eq!((&object["spec"]["count"], &object["metadata"]["generation"]), (&json!(5), &json!(3)));
    let listed = get(&mut server, "/apis/example.io/v1");
    let names: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["versions", "versions/status", "versions/scale"]);
}

#[test]
fn events_are_served_in_the_form_of_the_requested_group() {
    let mut server = server(36);
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "message": "m",
        "involvedObject": { "kind": "Pod", "namespace": "default", "name": "p" }, "reason": "R", "type": "Normal" });
    let core = "/api/v1/namespaces/default/events";
    assert_eq!(answer(&mut server, Method::Post, core, &event).0, 201);
    let list = get(&mut server, "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp");
    assert_eq!(list["items"][0]["note"], "m");
    assert_eq!(list["items"][0].get("message"), None);
    let path = "/apis/events.k8s.io/v1/namespaces/default/events/e";
    let (code, message) = answer(&mut server, Method::Patch, path, &json!({ "note": "other" }));
    assert_eq!(code, 422);
    assert!(message.contains("message: Invalid value: \"other\": field is immutable"), "{message}");
    let patch = json!({ "message": "other" });
    assert_eq!(answer(&mut server, Method::Patch, &format!("{core}/e"), &patch).0, 200);
    assert_eq!(get(&mut server, path)["note"], "other");
    assert_eq!(server.objects().filter(|(key, _)| key.plural == "events").count(), 1);
}

#[test]
fn invalid_objects_are_rejected_with_the_messages_of_their_kind() {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for (path, body, why) in [
        (
            PODS.to_owned(),
            json!({ "kind": "Pod", "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i",
                "resources": { "limits": { "cpu": "1" }, "requests": { "cpu": "2" } } }] } }),
            "Pod \"p\" is invalid: spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or \
             equal to cpu limit of 1",
        ),
        (
            PODS.to_owned(),
            json!({ "kind": "Pod", "metadata": { "name": "p" }, "spec": { "priorityClassName": "none",
                "containers": [{ "name": "c", "image": "i" }] } }),
            "pods \"p\" is forbidden: no PriorityClass with name none was found",
        ),
        (
            format!("{rbac}/clusterrolebindings"),
            json!({ "kind": "ClusterRoleBinding", "metadata": { "name": "b" }, "roleRef": { "kind": "Role", "name": "r" },
                "subjects": [{ "kind": "ServiceAccount", "name": "s" }] }),
            "ClusterRoleBinding.rbac.authorization.k8s.io \"b\" is invalid: [roleRef.kind: Unsupported value: \"Role\": \
             supported values: \"ClusterRole\", subjects[0].namespace: Required value]",
        ),
        (
            format!("{rbac}/clusterroles"),
            json!({ "kind": "ClusterRole", "metadata": { "name": "r" }, "rules": [{ "resources": ["pods"] }] }),
            "ClusterRole.rbac.authorization.k8s.io \"r\" is invalid: [rules[0].verbs: Required value: verbs must contain \
             at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group]",
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs".to_owned(),
            json!({ "kind": "Job", "metadata": { "name": "j" }, "spec": { "template": { "spec": {
                "containers": [{ "name": "c", "image": "i" }] } } } }),
            "Job.batch \"j\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \
             \"OnFailure\", \"Never\"",
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets".to_owned(),
            json!({ "kind": "PodDisruptionBudget", "metadata": { "name": "b" }, "spec": { "maxUnavailable": "x" } }),
            "PodDisruptionBudget.policy \"b\" is invalid: spec.maxUnavailable: Invalid value: \"x\": a valid percent string \
             must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is \
             '[0-9]+%')",
        ),
    ] {
        let mut server = server(36);
        assert_eq!(answer(&mut server, Method::Post, &path, &body).1, why);
    }
}

#[test]
fn errors_before_1_34_show_values_in_go_syntax() {
    let deployment = json!({ "kind": "Deployment", "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "x": "y" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    for (minor, shown) in [(33, "map[string]string{\"a\":\"b\"}"), (34, "{\"a\":\"b\"}")] {
        let mut server = server(minor);
        let path = "/apis/apps/v1/namespaces/default/deployments";
        let why = format!(
            "Deployment.apps \"d\" is invalid: spec.template.metadata.labels: Invalid value: {shown}: `selector` does \
             not match template `labels`"
        );
        assert_eq!(answer(&mut server, Method::Post, path, &deployment), (422, why));
    }
}

#[test]
fn services_get_unique_addresses_and_node_ports() {
    let mut server = server(36);
    let all = "/api/v1/namespaces/default/services";
    let service = |name: &str| json!({ "kind": "Service", "metadata": { "name": name }, "spec": { "type": "NodePort", "ports": [{ "port": 80 }] } });
    let one = ask(&mut server, Method::Post, all, &service("one")).json().unwrap();
    let two = ask(&mut server, Method::Post, all, &service("two")).json().unwrap();
    assert_ne!(one["spec"]["clusterIP"], two["spec"]["clusterIP"]);
    assert_ne!(one["spec"]["ports"][0]["nodePort"], two["spec"]["ports"][0]["nodePort"]);
    // An update without them changes neither.
    let updated = ask(&mut server, Method::Put, &format!("{all}/one"), &service("one")).json().unwrap();
    assert_eq!(updated["spec"], one["spec"]);
    let mut taken = service("three");
    taken["spec"]["clusterIP"] = one["spec"]["clusterIP"].clone();
    let why = answer(&mut server, Method::Post, all, &taken).1;
    assert!(why.ends_with("provided IP is already allocated"), "{why}");
}

#[test]
fn a_daemon_set_counts_its_template_generations() {
    let mut server = server(36);
    let all = "/apis/apps/v1/namespaces/default/daemonsets";
    let set = json!({ "kind": "DaemonSet", "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    let created = ask(&mut server, Method::Post, all, &set).json().unwrap();
    let count = |object: &Value| {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    assert_eq!(count(&created), "1");
    assert_eq!(
        created["spec"]["updateStrategy"]["rollingUpdate"],
        json!({ "maxUnavailable": 1, "maxSurge": 0 })
    );
    let patch = json!({ "spec": { "minReadySeconds": 3 } });
    let same = ask(&mut server, Method::Patch, &format!("{all}/d"), &patch).json().unwrap();
    assert_eq!(count(&same), "1");
    let patch = json!({ "spec": { "template": { "spec": { "hostNetwork": true } } } });
    let changed = ask(&mut server, Method::Patch, &format!("{all}/d"), &patch).json().unwrap();
    assert_eq!((count(&changed), &changed["metadata"]["generation"]), (json!("2"), &json!(3)));
}

#[test]
fn a_finalizer_protects_persistent_volume_claims() {
    let mut server = server(36);
    let all = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({ "kind": "PersistentVolumeClaim", "metadata": { "name": "c" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } } });
    let created = ask(&mut server, Method::Post, all, &claim).json().unwrap();
    assert_eq!(created["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    assert_eq!(
        (&created["spec"]["volumeMode"], &created["status"]),
        (&json!("Filesystem"), &json!({ "phase": "Pending" }))
    );
    assert_eq!(created["spec"]["resources"]["requests"]["storage"], "1Gi");
    let deleted = ask(&mut server, Method::Delete, &format!("{all}/c"), &Value::Null).json().unwrap();
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
}

#[test]
fn ephemeral_containers_can_only_be_added() {
    let mut server = server(36);
    ask(&mut server, Method::Post, PODS, &pod("p", &json!({})));
    let path = format!("{PODS}/p/ephemeralcontainers");
    let with = |name: &str| json!({ "spec": { "ephemeralContainers": [{ "name": name, "image": "i" }] } });
    let added = ask(&mut server, Method::Patch, &path, &with("debug"));
    assert_eq!(added.code, 200);
    let added = added.json().unwrap();
    assert_eq!(added["spec"]["ephemeralContainers"][0]["imagePullPolicy"], "Always");
    let (code, why) = answer(&mut server, Method::Patch, &path, &with("other"));
    assert_eq!(code, 422);
    assert!(why.contains("existing ephemeral containers \"debug\" may not be removed"), "{why}");
    let (code, why) =
        answer(&mut server, Method::Patch, &format!("{PODS}/p"), &json!({ "spec": { "hostname": "h" } }));
    assert_eq!(code, 422);
    assert!(
        why.starts_with("Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields"),
        "{why}"
    );
}

#[test]
fn features_of_built_in_kinds_start_with_their_minor() {
    let container = json!({ "name": "c", "image": "i" });
    let mut with_unusual_name = container.clone();
    with_unusual_name["env"] = json!([{ "name": "1 a", "value": "b" }]);
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [container] } });
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    let job = json!({ "metadata": { "name": "x" }, "spec": { "template": once } });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let cases = [
        (
            PODS,
            json!({ "metadata": { "name": "x" }, "spec": { "containers": [container] } }),
            "/metadata/generation",
            33,
        ),
        (
            PODS,
            json!({ "metadata": { "name": "x" }, "spec": { "containers": [with_unusual_name] } }),
            "/metadata/uid",
            32,
        ),
        (jobs, job.clone(), "/spec/template/metadata/labels/batch.kubernetes.io~1job-name", 27),
        (jobs, job.clone(), "/spec/podReplacementPolicy", 29),
        (jobs, job, "/spec/manualSelector", 30),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({ "metadata": { "name": "x" }, "spec": { "selector": { "matchLabels": { "a": "b" } },
                "template": template, "serviceName": "s" } }),
            "/spec/persistentVolumeClaimRetentionPolicy",
            27,
        ),
        (
            "/api/v1/persistentvolumes",
            json!({ "metadata": { "name": "x" }, "spec": { "accessModes": ["ReadWriteOnce"],
                "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/x" } } }),
            "/status/lastPhaseTransitionTime",
            29,
        ),
    ];
    for (path, body, pointer, first) in cases {
        let has = |minor| {
            let created = ask(&mut server(minor), Method::Post, path, &body).json().unwrap();
            created.pointer(pointer).is_some()
        };
        assert_eq!((has(first - 1), has(first)), (false, true), "{pointer} of 1.{first}");
    }
}

#[test]
fn the_source_of_an_event_may_be_its_reporting_controller() {
    let mut server = server(36);
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e" }, "type": "Normal", "reason": "r",
        "action": "a", "reportingController": "test-controller", "reportingInstance": "i",
        "eventTime": "2024-01-01T00:00:00.000000Z", "regarding": { "kind": "Pod", "namespace": "default", "name": "p" },
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    assert_eq!(answer(&mut server, Method::Post, path, &event).0, 201);
    for (source, expected) in [("test-controller", 1), ("other", 0)] {
        let path = format!("/api/v1/namespaces/default/events?fieldSelector=source%3D{source}");
        assert_eq!(get(&mut server, &path)["items"].as_array().map(Vec::len), Some(expected), "{source}");
    }
}

/// A certificate request in PEM, as base64.
pub(super) const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1H\
    QnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCQVl5UWxFcE9sbGJXUUFOeERFNmgvQ1QxeFptYWZvNnE0TmM0bHg2TXg3\
    TnA5VGYvQURmN2ROMGpVd0ExdURYCk5qYS9TckpjMFBGY1c1cWkxbThIODBTZ0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFp\
    RUFxbm16Uk9HRVd0dGMKYWc2Q2JPbUxJMm04OWp5c04wQ2VYR3ArL0pqS0Zoa0NJR05IaEh3SDFjQ3Z5VkR6THJ1RDkvYXdr\
    K0pURWhobwprNzJZRVM1NGRlVEcKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

#[test]
fn the_approval_of_a_certificate_request_may_change_its_metadata() {
    let mut server = server(36);
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": "c" },
        "spec": { "signerName": "example.com/signer", "usages": ["client auth"], "request": REQUEST },
    });
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    assert_eq!(answer(&mut server, Method::Post, path, &request), (201, String::new()));
    let approval = json!({
        "metadata": { "annotations": { "a": "b" } },
        "status": { "conditions": [{ "type": "Approved", "status": "True", "reason": "r" }] },
    });
    assert_eq!(answer(&mut server, Method::Patch, &format!("{path}/c/approval"), &approval).0, 200);
    let found = get(&mut server, &format!("{path}/c"));
    assert_eq!(found["metadata"]["annotations"]["a"], "b");
    assert_eq!(found["status"]["conditions"][0]["type"], "Approved");
}
