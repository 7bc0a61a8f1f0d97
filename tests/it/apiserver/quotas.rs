//! Admission by ResourceQuotas, LimitRanges and ServiceAccounts.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::Identity;

use super::requests::{now, server};

const CORE: &str = "/api/v1/namespaces/default";

fn send(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin);
    if !body.is_null() {
        request = request.with_body(body);
    }
    let reply = server.handle(&request, now());
    (reply.code, reply.json().unwrap_or_default())
}

/// Creates an object. Returns the rejection without its common prefix; empty if it is accepted.
fn rejection(server: &mut ApiServer, plural: &str, object: &Value) -> String {
    let (code, body) = send(server, Method::Post, &format!("{CORE}/{plural}"), object);
    let text = body["message"].as_str().unwrap_or_default();
    match text.split_once(" is forbidden: ") {
        Some((_, why)) if code == 403 => why.to_owned(),
        _ => format!("{}{text}", if code == 201 { String::new() } else { format!("{code} ") }),
    }
}

fn named(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

fn quota(server: &mut ApiServer, name: &str, spec: &Value) {
    let mut quota = named(name);
    quota["spec"] = spec.clone();
    assert_eq!(rejection(server, "resourcequotas", &quota), "");
}

fn used(server: &mut ApiServer, name: &str) -> Value {
    let (_, quota) = send(server, Method::Get, &format!("{CORE}/resourcequotas/{name}"), &Value::Null);
    assert_eq!(quota["status"]["hard"], quota["spec"]["hard"]);
    quota["status"]["used"].clone()
}

fn pod(name: &str, resources: &Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [
        { "name": "c", "image": "i", "resources": resources }] } })
}

#[test]
fn a_quota_counts_objects_and_rejects_too_many() {
    let mut server = server(36);
    assert_eq!(rejection(&mut server, "configmaps", &named("a")), "");
    quota(
        &mut server,
        "q",
        &json!({ "hard": { "configmaps": "2", "count/deployments.apps": "0", "secrets": "5" } }),
    );
    let none = json!({ "configmaps": "1", "count/deployments.apps": "0", "secrets": "0" });
    assert_eq!(used(&mut server, "q"), none);
    assert_eq!(rejection(&mut server, "configmaps", &named("b")), "");
    assert_eq!(used(&mut server, "q")["configmaps"], "2");
    let why = "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2";
    assert_eq!(rejection(&mut server, "configmaps", &named("c")), why);
    // Existing objects can change, and a deletion frees quota.
    let patch = format!("{CORE}/configmaps/b");
    assert_eq!(
        send(&mut server, Method::Put, &patch, &json!({ "metadata": { "name": "b" }, "data": { "k": "v" } }))
            .0,
        200
    );
    assert_eq!(send(&mut server, Method::Delete, &format!("{CORE}/configmaps/a"), &Value::Null).0, 200);
    assert_eq!(used(&mut server, "q")["configmaps"], "1");
    assert_eq!(rejection(&mut server, "configmaps", &named("c")), "");
    let deployment = json!({ "metadata": { "name": "d" }, "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": {
        "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    let (code, body) =
        send(&mut server, Method::Post, "/apis/apps/v1/namespaces/default/deployments", &deployment);
    assert_eq!(code, 403);
    assert_eq!(
        body["message"],
        "deployments.apps \"d\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: \
         count/deployments.apps=0, limited: count/deployments.apps=0"
    );
    // A dry run uses no quota, and gets the same rejection.
    let (code, _) = send(&mut server, Method::Post, &format!("{CORE}/configmaps?dryRun=All"), &named("d"));
    assert_eq!(code, 403);
}

#[test]
fn pods_use_quota_for_their_requests_until_they_finish() {
    let mut server = server(36);
    let hard =
        json!({ "requests.cpu": "1", "limits.memory": "1Gi", "pods": "5", "requests.example.io/gpu": "1" });
    quota(&mut server, "q", &json!({ "hard": hard }));
    let without_resources = pod("a", &json!({}));
    assert_eq!(
        rejection(&mut server, "pods", &without_resources),
        "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"
    );
    let fits = json!({ "requests": { "cpu": "600m", "memory": "1Mi", "example.io/gpu": "1" },
        "limits": { "memory": "512Mi", "example.io/gpu": "1" } });
    assert_eq!(rejection(&mut server, "pods", &pod("a", &fits)), "");
    let taken = json!({ "requests.cpu": "600m", "limits.memory": "512Mi", "pods": "1", "requests.example.io/gpu": "1" });
    assert_eq!(used(&mut server, "q"), taken);
    assert_eq!(
        rejection(&mut server, "pods", &pod("b", &fits)),
        "exceeded quota: q, requested: requests.cpu=600m,requests.example.io/gpu=1, used: \
         requests.cpu=600m,requests.example.io/gpu=1, limited: requests.cpu=1,requests.example.io/gpu=1"
    );
    let status = json!({ "metadata": { "name": "a" }, "status": { "phase": "Succeeded" } });
    let request_path = format!("{CORE}/pods/a/status");
    let admin = Identity::admin();
    let request = Request::new(Method::Patch, &request_path, &admin)
        .with_content_type("application/merge-patch+json")
        .with_body(&status);
    assert_eq!(server.handle(&request, now()).code, 200);
    assert_eq!(used(&mut server, "q")["requests.cpu"], "0");
    assert_eq!(rejection(&mut server, "pods", &pod("b", &fits)), "");
}

#[test]
fn quota_scopes_select_pods_and_claims_cannot_grow_beyond_a_quota() {
    let mut server = server(36);
    quota(&mut server, "idle", &json!({ "hard": { "pods": "0" }, "scopes": ["BestEffort"] }));
    quota(&mut server, "busy", &json!({ "hard": { "pods": "1" }, "scopes": ["NotBestEffort"] }));
    let one_cpu = json!({ "requests": { "cpu": "1" } });
    assert_eq!(rejection(&mut server, "pods", &pod("a", &one_cpu)), "");
    assert_eq!(
        rejection(&mut server, "pods", &pod("b", &json!({}))),
        "exceeded quota: idle, requested: pods=1, used: pods=0, limited: pods=0"
    );
    assert_eq!(
        rejection(&mut server, "pods", &pod("b", &one_cpu)),
        "exceeded quota: busy, requested: pods=1, used: pods=1, limited: pods=1"
    );
    quota(
        &mut server,
        "room",
        &json!({ "hard": { "requests.storage": "3Gi", "services.loadbalancers": "0" } }),
    );
    let claim = |name: &str, size: &str| {
        json!({ "metadata": { "name": name }, "spec": { "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": size } } } })
    };
    assert_eq!(rejection(&mut server, "persistentvolumeclaims", &claim("a", "2Gi")), "");
    let why = "exceeded quota: room, requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi";
    assert_eq!(rejection(&mut server, "persistentvolumeclaims", &claim("b", "2Gi")), why);
    let service =
        json!({ "metadata": { "name": "s" }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } });
    let why = "exceeded quota: room, requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: \
               services.loadbalancers=0";
    assert_eq!(rejection(&mut server, "services", &service), why);
}

#[test]
fn a_limit_range_defaults_and_bounds_container_resources() {
    let mut server = server(36);
    let range = json!({ "metadata": { "name": "r" }, "spec": { "limits": [
        { "type": "Container", "default": { "cpu": "500m" }, "defaultRequest": { "cpu": "200m", "memory": "1Mi" },
            "min": { "cpu": "100m" }, "max": { "cpu": "1" }, "maxLimitRequestRatio": { "cpu": "4" } },
        { "type": "Pod", "max": { "cpu": "1500m" } },
        { "type": "PersistentVolumeClaim", "min": { "storage": "1Gi" } } ] } });
    assert_eq!(rejection(&mut server, "limitranges", &range), "");
    assert_eq!(rejection(&mut server, "pods", &pod("a", &json!({}))), "");
    let (_, created) = send(&mut server, Method::Get, &format!("{CORE}/pods/a"), &Value::Null);
    assert_eq!(
        created["spec"]["containers"][0]["resources"],
        json!({ "limits": { "cpu": "500m" }, "requests": { "cpu": "200m", "memory": "1Mi" } })
    );
    assert_eq!(
        created["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"
    );
    assert_eq!(created["status"]["qosClass"], "Burstable");
    for (resources, why) in [
        (
            json!({ "requests": { "cpu": "50m" }, "limits": { "cpu": "200m" } }),
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "2" } }),
            "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, but limit is 2]",
        ),
        (
            json!({ "requests": { "cpu": "100m" }, "limits": { "cpu": "900m" } }),
            "cpu max limit to request ratio per Container is 4, but provided ratio is 9.000000",
        ),
    ] {
        assert_eq!(rejection(&mut server, "pods", &pod("b", &resources)), why);
    }
    let claim = json!({ "metadata": { "name": "c" }, "spec": { "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": "1Mi" } } } });
    assert_eq!(
        rejection(&mut server, "persistentvolumeclaims", &claim),
        "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"
    );
}

#[test]
fn service_account_admission_adds_the_account_and_its_token_to_pods() {
    let mut server = ApiServer::builder().service_account_admission(true).build(now());
    assert_eq!(
        rejection(&mut server, "pods", &pod("a", &json!({}))),
        "error looking up service account default/default: serviceaccount \"default\" not found"
    );
    let account = json!({ "metadata": { "name": "default" }, "imagePullSecrets": [{ "name": "pull" }] });
    assert_eq!(rejection(&mut server, "serviceaccounts", &account), "");
    assert_eq!(rejection(&mut server, "pods", &pod("a", &json!({}))), "");
    let (_, created) = send(&mut server, Method::Get, &format!("{CORE}/pods/a"), &Value::Null);
    let spec = &created["spec"];
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    assert_eq!(spec["imagePullSecrets"], json!([{ "name": "pull" }]));
    let volume = spec["volumes"][0]["name"].as_str().unwrap();
    assert!(volume.starts_with("kube-api-access-") && volume.len() == 21, "{volume}");
    let token = json!({ "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } });
    assert_eq!(spec["volumes"][0]["projected"]["sources"][0], token);
    assert_eq!(
        spec["containers"][0]["volumeMounts"],
        json!([{ "name": volume, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount" }])
    );
    let mut without_token = pod("b", &json!({}));
    without_token["spec"]["automountServiceAccountToken"] = json!(false);
    assert_eq!(rejection(&mut server, "pods", &without_token), "");
    let (_, created) = send(&mut server, Method::Get, &format!("{CORE}/pods/b"), &Value::Null);
    assert_eq!(
        (&created["spec"]["volumes"], &created["spec"]["serviceAccountName"]),
        (&Value::Null, &json!("default"))
    );
}
