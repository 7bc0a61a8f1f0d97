//! Replacements for requests that some servers reject: those that forbid privileged containers, which is the
//! default without `--allow-privileged`, and those that are too old for an API version.

use http::Request;
use serde_json::{Value, json};

use super::reply::Reply;

/// The server's message about each container whose privilege it forbids.
const FORBIDDEN: &str = "privileged: Forbidden: disallowed by cluster policy";
/// The message of servers before Kubernetes 1.22 about an eviction.
const UNKNOWN_EVICTION: &str = "no kind \"Eviction\" is registered for version \"policy/v1\"";

/// Returns a replacement for a rejected request; `None` if there is none.
pub(super) fn replacement_request(request: &Request<Vec<u8>>, refused: &Reply) -> Option<Request<Vec<u8>>> {
    let why = refused.body["message"].as_str().unwrap_or_default();
    let concede: fn(&mut Value) -> bool = match refused.code {
        // A simulated pod never runs on a machine, so it needs no privileges.
        422 if why.contains(FORBIDDEN) => take_privilege,
        // `kubectl drain` also uses the older version, after discovery.
        400 if why.contains(UNKNOWN_EVICTION) => evict_as_before,
        _ => return None,
    };
    let mut body: Value = serde_json::from_slice(request.body()).ok()?;
    concede(&mut body).then(|| request.clone().map(|_| body.to_string().into_bytes()))
}

fn evict_as_before(eviction: &mut Value) -> bool {
    let is_newer = eviction["apiVersion"] == "policy/v1";
    if is_newer {
        eviction["apiVersion"] = json!("policy/v1beta1");
    }
    is_newer
}

/// Removes `privileged` from all containers in a body of any kind; returns whether there was one.
fn take_privilege(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let context = fields.get_mut("securityContext").and_then(Value::as_object_mut);
            let mut taken = context.is_some_and(|context| context.remove("privileged") == Some(true.into()));
            for field in fields.values_mut() {
                taken |= take_privilege(field);
            }
            taken
        }
        Value::Array(items) => items.iter_mut().fold(false, |taken, item| taken | take_privilege(item)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted;
    use super::super::wire::request;
    use super::*;
    use http::Method;

    fn job(privileged: bool) -> Value {
        let mut context = json!({ "readOnlyRootFilesystem": true });
        if privileged {
            context["privileged"] = json!(true);
        }
        let containers = json!([{ "name": "a", "securityContext": context }]);
        json!({ "spec": { "template": { "spec": { "initContainers": containers, "containers": containers } } } })
    }

    fn create(job: &Value) -> Request<Vec<u8>> {
        request(Method::POST, "/apis/batch/v1/namespaces/ns/jobs", Some(("application/json", job)), None)
            .unwrap()
    }

    fn refused(code: u16) -> (u16, Value) {
        let field = "spec.template.spec.containers[0].securityContext";
        let message = format!("Job.batch \"a\" is invalid: {field}.{FORBIDDEN}");
        (code, json!({ "kind": "Status", "code": code, "message": message }))
    }

    #[test]
    fn retries_without_privileges_after_a_rejection() {
        let wire = scripted::wire(None, vec![refused(422), (201, json!({ "kind": "Job" }))]);
        assert_eq!(wire.call(create(&job(true))).code, 201);
    }

    #[test]
    fn removes_only_privileges_and_keeps_other_rejections() {
        let (code, body) = refused(422);
        let rejection = Reply { code, body };
        let conceded = replacement_request(&create(&job(true)), &rejection).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(conceded.body()).unwrap(), job(false));
        assert!(
            replacement_request(&create(&job(false)), &rejection).is_none(),
            "the request has no privileges"
        );
        let (code, body) = refused(403);
        assert!(replacement_request(&create(&job(true)), &Reply { code, body }).is_none());
    }

    #[test]
    fn retries_evictions_in_v1beta1_for_an_old_server() {
        // The message of kube-apiserver 1.20.2.
        let message = format!(
            "Eviction in version \"v1\" cannot be handled as a Eviction: {UNKNOWN_EVICTION} in scheme \
             \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        );
        let rejection = json!({ "kind": "Status", "code": 400, "message": message });
        let wire = scripted::wire(
            None,
            vec![(400, rejection.clone()), (201, json!({ "kind": "Status", "code": 201 }))],
        );
        let eviction = |version: &str| {
            let eviction = json!({ "apiVersion": version, "kind": "Eviction", "metadata": { "name": "p" } });
            let path = "/api/v1/namespaces/ns/pods/p/eviction";
            request(Method::POST, path, Some(("application/json", &eviction)), None).unwrap()
        };
        let conceded =
            replacement_request(&eviction("policy/v1"), &Reply { code: 400, body: rejection.clone() })
                .unwrap();
        assert_eq!(conceded.body(), eviction("policy/v1beta1").body());
        assert!(
            replacement_request(&eviction("policy/v1beta1"), &Reply { code: 400, body: rejection }).is_none()
        );
        assert_eq!(wire.call(eviction("policy/v1")).code, 201);
    }
}
