//! Validation messages of less common built-in kinds.

use serde_json::{Value, json};
use windtunnel_apiserver::Method;

use super::kinds::{answer, ask};
use super::requests::server;

/// The error for a new object; empty if it is accepted.
fn created(path: &str, body: &Value) -> String {
    let (code, text) = answer(&mut server(36), Method::Post, path, body);
    assert!(matches!((code, text.is_empty()), (201, true) | (422, false)), "{path} {code} {text}");
    text.split_once(" is invalid: ").map_or(text.clone(), |(_, why)| why.to_owned())
}

/// The error for a patch of an accepted object; empty if the patch is accepted.
fn changed(minor: u32, path: &str, body: &Value, status: &Value, patch: &Value) -> String {
    let mut server = server(minor);
    let class = json!({ "metadata": { "name": "s" }, "provisioner": "p", "allowVolumeExpansion": true });
    ask(&mut server, Method::Post, "/apis/storage.k8s.io/v1/storageclasses", &class);
    let made = ask(&mut server, Method::Post, path, body);
    assert_eq!(made.code, 201, "{:?}", made.json());
    let object_path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
    if !status.is_null() {
        let written = json!({ "status": status });
        assert_eq!(ask(&mut server, Method::Patch, &format!("{object_path}/status"), &written).code, 200);
    }
    let (code, text) = answer(&mut server, Method::Patch, &object_path, patch);
    assert!(matches!((code, text.is_empty()), (200, true) | (422, false)), "{path} {code} {text}");
    text.split_once(" is invalid: ").map_or(text.clone(), |(_, why)| why.to_owned())
}

fn named(body: Value) -> Value {
    let mut body = body;
    body["metadata"] = json!({ "name": "a" });
    body
}

fn spec(spec: &Value) -> Value {
    named(json!({ "spec": spec }))
}

const NETWORKING: &str = "/apis/networking.k8s.io/v1";

#[test]
fn validates_network_policies() {
    let path = format!("{NETWORKING}/namespaces/default/networkpolicies");
    let rule = |rule: Value| created(&path, &spec(&json!({ "podSelector": {}, "ingress": [rule] })));
    let from = |peer: Value| rule(json!({ "from": [peer] }));
    let port = |port: Value| rule(json!({ "ports": [port] }));
    let at = "spec.ingress[0].from[0]";
    assert_eq!(from(json!({})), format!("{at}: Required value: must specify a peer"));
    assert_eq!(
        from(json!({ "podSelector": {}, "ipBlock": { "cidr": "10.0.0.0/8" } })),
        format!("{at}: Forbidden: may not specify both ipBlock and another peer")
    );
    assert_eq!(from(json!({ "ipBlock": {} })), format!("{at}.ipBlock.cidr: Required value"));
    assert_eq!(
        from(json!({ "ipBlock": { "cidr": "10.0.0.0" } })),
        format!(
            "{at}.ipBlock.cidr: Invalid value: \"10.0.0.0\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or \
             2001:db8::/64)"
        )
    );
    assert_eq!(from(json!({ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } })), "");
    for except in ["11.0.0.0/16", "10.0.0.0/8", "::/16"] {
        assert_eq!(
            from(json!({ "ipBlock": { "cidr": "10.0.0.0/8", "except": [except] } })),
            format!("{at}.ipBlock.except[0]: Invalid value: \"{except}\": must be a strict subset of `cidr`")
        );
    }
    let at = "spec.ingress[0].ports[0]";
    assert_eq!(
        port(json!({ "protocol": "ICMP" })),
        format!("{at}.protocol: Unsupported value: \"ICMP\": supported values: \"TCP\", \"UDP\", \"SCTP\"")
    );
    assert_eq!(
        port(json!({ "port": 80, "endPort": 79 })),
        format!("{at}.endPort: Invalid value: 80: must be greater than or equal to `port`")
    );
    assert_eq!(
        port(json!({ "endPort": 79 })),
        format!("{at}.endPort: Invalid value: 79: may not be specified when `port` is not specified")
    );
    assert_eq!(
        port(json!({ "port": "http", "endPort": 79 })),
        format!("{at}.endPort: Invalid value: 79: may not be specified when `port` is non-numeric")
    );
    assert_eq!(
        created(&path, &spec(&json!({ "podSelector": {}, "policyTypes": ["In"] }))),
        "spec.policyTypes[0]: Unsupported value: \"In\": supported values: \"Ingress\", \"Egress\""
    );
}

#[test]
fn validates_ingresses() {
    let path = format!("{NETWORKING}/namespaces/default/ingresses");
    let backend = || json!({ "service": { "name": "s", "port": { "number": 80 } } });
    let with = |more: Value| {
        let mut body = spec(&json!({ "defaultBackend": backend() }));
        for (name, value) in more.as_object().unwrap() {
            body["spec"][name] = value.clone();
        }
        created(&path, &body)
    };
    assert_eq!(
        created(&path, &spec(&json!({ "defaultBackend": {} }))),
        "spec.defaultBackend: Invalid value: \"\": resource or service backend is required"
    );
    let wildcard = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain";
    for text in
        [with(json!({ "rules": [{ "host": "a.*.b" }] })), with(json!({ "tls": [{ "hosts": ["*x.b"] }] }))]
    {
        assert!(text.contains(wildcard), "{text}");
    }
    assert_eq!(
        with(json!({ "rules": [{ "host": "*.b" }], "tls": [{ "hosts": ["*.b"], "secretName": "s" }] })),
        ""
    );
    assert!(
        with(json!({ "tls": [{ "secretName": "S" }] }))
            .starts_with("spec.tls[0].secretName: Invalid value: \"S\"")
    );
    assert!(
        with(json!({ "ingressClassName": "A" })).starts_with("spec.ingressClassName: Invalid value: \"A\"")
    );
    let mut both = spec(&json!({ "defaultBackend": backend(), "ingressClassName": "b" }));
    both["metadata"]["annotations"] = json!({ "kubernetes.io/ingress.class": "a" });
    assert_eq!(
        created(&path, &both),
        "annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are \
         specified"
    );
    let path_error = |path: &str| {
        let paths = json!([{ "path": path, "pathType": "Prefix", "backend": backend() }]);
        with(json!({ "rules": [{ "http": { "paths": paths } }] }))
    };
    let at = "spec.rules[0].http.paths[0].path";
    assert_eq!(path_error("/a//b"), format!("{at}: Invalid value: \"/a//b\": must not contain '//'"));
    assert_eq!(path_error("/a/.."), format!("{at}: Invalid value: \"/a/..\": cannot end with '/..'"));
    assert_eq!(path_error("a"), format!("{at}: Invalid value: \"a\": must be an absolute path"));
}

#[test]
fn controllers_of_ingress_classes_and_handlers_of_runtime_classes_are_immutable() {
    let classes = format!("{NETWORKING}/ingressclasses");
    let class = |controller: &str| spec(&json!({ "controller": controller }));
    assert_eq!(created(&classes, &class("")), "spec.controller: Required value");
    assert_eq!(
        created(&classes, &class("x")),
        "spec.controller: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")"
    );
    assert_eq!(created(&classes, &class("acme.io/foo")), "");
    let patch = json!({ "spec": { "controller": "acme.io/bar" } });
    assert_eq!(
        changed(36, &classes, &class("acme.io/foo"), &Value::Null, &patch),
        "spec.controller: Invalid value: \"acme.io/bar\": field is immutable"
    );
    let runtimes = "/apis/node.k8s.io/v1/runtimeclasses";
    let runtime = |handler: &str| named(json!({ "handler": handler }));
    assert!(
        created(runtimes, &runtime("Runc"))
            .starts_with("handler: Invalid value: \"Runc\": a lowercase RFC 1123 label")
    );
    assert_eq!(
        changed(36, runtimes, &runtime("runc"), &Value::Null, &json!({ "handler": "crun" })),
        "handler: Invalid value: \"crun\": field is immutable"
    );
}

#[test]
fn validates_limit_ranges() {
    let path = "/api/v1/namespaces/default/limitranges";
    let limits = |limits: Value| created(path, &spec(&json!({ "limits": limits })));
    assert_eq!(
        limits(json!([{ "type": "Box" }])),
        "spec.limits[0].type: Invalid value: \"Box\": must be a standard limit type or fully qualified"
    );
    assert_eq!(
        limits(json!([{ "type": "Pod" }, { "type": "Pod" }])),
        "spec.limits[1].type: Duplicate value: \"Pod\""
    );
    assert_eq!(
        limits(json!([{ "type": "Pod", "default": { "cpu": "1" } }])),
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"
    );
    assert_eq!(
        limits(json!([{ "type": "PersistentVolumeClaim" }])),
        "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was \
         provided"
    );
    assert_eq!(
        limits(json!([{ "type": "Pod", "min": { "cpu": "400m" }, "max": { "cpu": "200m" } }])),
        "spec.limits[0].min[cpu]: Invalid value: \"400m\": min value 400m is greater than max value 200m"
    );
    assert_eq!(
        limits(
            json!([{ "type": "Container", "default": { "memory": "1Gi" }, "defaultRequest": { "memory": "2Gi" } }])
        ),
        "spec.limits[0].defaultRequest[memory]: Invalid value: \"2Gi\": default request value 2Gi is greater than \
         default limit value 1Gi"
    );
    assert_eq!(
        limits(json!([{ "type": "Pod", "maxLimitRequestRatio": { "cpu": "500m" } }])),
        "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1"
    );
    assert_eq!(
        limits(json!([{ "type": "Pod", "max": { "colour": "1" } }])),
        "[spec.limits[0].max[colour]: Invalid value: \"colour\": must be a standard resource type or fully qualified, \
         spec.limits[0].max[colour]: Invalid value: \"colour\": must be a standard resource for containers]"
    );
}

#[test]
fn validates_autoscaler_metrics() {
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let metric = |metric: Value| {
        created(
            path,
            &spec(
                &json!({ "maxReplicas": 2, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" },
            "metrics": [metric] }),
            ),
        )
    };
    let cpu = |target: Value| json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
    assert_eq!(metric(cpu(json!({ "type": "Utilization", "averageUtilization": 50 }))), "");
    let at = "spec.metrics[0]";
    assert_eq!(
        metric(json!({ "type": "Moon" })),
        format!(
            "{at}.type: Unsupported value: \"Moon\": supported values: \"ContainerResource\", \"External\", \"Object\", \
             \"Pods\", \"Resource\""
        )
    );
    assert_eq!(
        metric(json!({ "type": "Resource" })),
        format!("{at}.resource: Required value: must populate information for the given metric source")
    );
    assert_eq!(
        metric(cpu(json!({ "type": "Utilization" }))),
        format!(
            "{at}.resource.target.averageUtilization: Required value: must set either a target raw value or a target \
             utilization"
        )
    );
    assert_eq!(
        metric(cpu(json!({ "type": "Odd", "averageUtilization": 0 }))),
        format!(
            "[{at}.resource.target.type: Invalid value: \"Odd\": must be either Utilization, Value, or AverageValue, \
             {at}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0]"
        )
    );
    let pods = json!({ "type": "Pods", "pods": { "metric": { "name": "m" }, "target": { "type": "AverageValue" } } });
    assert_eq!(
        metric(pods),
        format!("{at}.pods.target.averageValue: Required value: must specify a positive target averageValue")
    );
}

#[test]
fn validates_usages_of_signing_requests() {
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    // A PEM block with the right type.
    let request = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KQUE9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
    let usages_error = |usages: Value| {
        created(path, &spec(&json!({ "request": request, "signerName": "x.io/y", "usages": usages })))
    };
    assert_eq!(usages_error(json!([])), "spec.usages: Required value");
    assert!(
        usages_error(json!(["tea"])).starts_with(
            "spec.usages[0]: Unsupported value: \"tea\": supported values: \"any\", \"cert sign\""
        )
    );
    assert_eq!(
        usages_error(json!(["client auth", "client auth"])),
        "spec.usages[1]: Duplicate value: \"client auth\""
    );
}

#[test]
fn a_bound_claim_can_grow_but_not_shrink() {
    let path = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = spec(&json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "s",
        "resources": { "requests": { "storage": "2Gi" } } }));
    let bound = json!({ "phase": "Bound", "capacity": { "storage": "2Gi" } });
    let size = |size: &str| json!({ "spec": { "resources": { "requests": { "storage": size } } } });
    assert_eq!(changed(36, path, &claim, &bound, &size("3Gi")), "");
    let immutable = "spec: Forbidden: spec is immutable after creation except resources.requests and \
                     volumeAttributesClassName for bound claims";
    assert!(changed(36, path, &claim, &Value::Null, &size("3Gi")).starts_with(immutable));
    let at = "spec.resources.requests.storage: Forbidden: field can not be less than";
    assert_eq!(changed(36, path, &claim, &bound, &size("1Gi")), format!("{at} status.capacity"));
    assert_eq!(changed(31, path, &claim, &bound, &size("1Gi")), format!("{at} previous value"));
    let small = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
    assert_eq!(
        changed(36, path, &claim, &small, &size("1500Mi")),
        "",
        "the capacity is still below the new request"
    );
}

#[test]
fn validates_resource_quotas() {
    let path = "/api/v1/namespaces/default/resourcequotas";
    let hard = |hard: Value| created(path, &spec(&json!({ "hard": hard })));
    assert_eq!(hard(json!({ "pods": "1", "requests.cpu": "500m", "count/jobs.batch": "3" })), "");
    assert_eq!(
        hard(json!({ "pods": "-1" })),
        "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0"
    );
    assert_eq!(
        hard(json!({ "pods": "1500m" })),
        "spec.hard[pods]: Invalid value: \"1500m\": must be an integer"
    );
    assert_eq!(
        hard(json!({ "colour": "1" })),
        "[spec.hard[colour]: Invalid value: \"colour\": must be a standard resource type or fully qualified, \
         spec.hard[colour]: Invalid value: \"colour\": must be a standard resource for quota]"
    );
    let scopes = |scopes: Value| created(path, &spec(&json!({ "hard": { "pods": "1" }, "scopes": scopes })));
    assert_eq!(scopes(json!(["Odd"])), "spec.scopes: Invalid value: [\"Odd\"]: unsupported scope");
    assert_eq!(
        scopes(json!(["Terminating", "NotTerminating"])),
        "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes"
    );
    let best = spec(&json!({ "hard": { "pods": "1" }, "scopes": ["BestEffort"] }));
    let patch = json!({ "spec": { "scopes": ["Terminating"] } });
    assert_eq!(
        changed(36, path, &best, &Value::Null, &patch),
        "spec.scopes: Invalid value: [\"Terminating\"]: field is immutable"
    );
    assert_eq!(
        changed(33, path, &best, &Value::Null, &patch),
        "spec.scopes: Invalid value: []core.ResourceQuotaScope{\"Terminating\"}: field is immutable"
    );
}

#[test]
fn validates_other_kinds_that_tools_use() {
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    assert_eq!(
        created(lease, &spec(&json!({ "leaseDurationSeconds": 0 }))),
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    );
    let storage = "/apis/storage.k8s.io/v1/storageclasses";
    assert_eq!(created(storage, &named(json!({}))), "provisioner: Required value");
    for (minor, expected) in [
        (35, "parameters: Forbidden: updates to parameters are forbidden."),
        (36, "parameters: Invalid value: {\"a\":\"b\"}: field is immutable"),
    ] {
        let class = named(json!({ "provisioner": "x.io/y" }));
        let patch = json!({ "parameters": { "a": "b" } });
        assert_eq!(changed(minor, storage, &class, &Value::Null, &patch), expected);
    }
    let priority = "/apis/scheduling.k8s.io/v1/priorityclasses";
    assert_eq!(
        changed(36, priority, &named(json!({ "value": 5 })), &Value::Null, &json!({ "value": 6 })),
        "value: Forbidden: may not be changed in an update."
    );
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let slice =
        |addresses: Value| named(json!({ "addressType": "IPv4", "endpoints": [{ "addresses": addresses }] }));
    assert_eq!(
        created(slices, &slice(json!([]))),
        "endpoints[0].addresses: Required value: must contain at least 1 address"
    );
    assert_eq!(
        changed(36, slices, &slice(json!(["1.2.3.4"])), &Value::Null, &json!({ "addressType": "FQDN" }))
            .split(", ")
            .next()
            .unwrap()
            .trim_start_matches('['),
        "addressType: Invalid value: \"FQDN\": field is immutable"
    );
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    assert!(
        created(
            services,
            &spec(
                &json!({ "group": "x.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1 })
            )
        )
        .starts_with(
            "metadata.name: Invalid value: \"a\": must be `spec.version+\".\"+spec.group`: \"v1.x.io\""
        )
    );
    let cron = "/apis/batch/v1/namespaces/default/cronjobs";
    let template = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never",
        "containers": [{ "name": "c", "image": "i" }] } } } });
    assert_eq!(created(cron, &spec(&json!({ "jobTemplate": template }))), "spec.schedule: Required value");
}
