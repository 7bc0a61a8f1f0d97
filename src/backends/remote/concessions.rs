//! What to send instead of a request that a server refuses because of what it is: one that allows no privileged containers, as it
//! does unless it is told to (`--allow-privileged`), or one that is too old for an API that components speak.

use http::Request;
use serde_json::{Value, json};

use super::wire::Reply;

/// What a server says of each container whose privilege it does not allow.
const FORBIDDEN: &str = "privileged: Forbidden: disallowed by cluster policy";
/// What one before Kubernetes 1.22 says of an eviction.
const UNKNOWN_EVICTION: &str = "no kind \"Eviction\" is registered for version \"policy/v1\"";

/// What to send instead of a request that was refused; nothing where the refusal stands.
pub(super) fn instead(request: &Request<Vec<u8>>, refused: &Reply) -> Option<Request<Vec<u8>>> {
    let why = refused.body["message"].as_str().unwrap_or_default();
    let concede: fn(&mut Value) -> bool = match refused.code {
        // Nothing of a simulated pod ever touches a machine.
        422 if why.contains(FORBIDDEN) => take_privilege,
        // As `kubectl drain` does, which looks for the version first.
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

/// Takes the privilege from all containers in a body, whatever that is; true if there was one.
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
    fn what_is_refused_for_its_privileges_is_made_without_them() {
        let wire = scripted::wire(None, vec![refused(422), (201, json!({ "kind": "Job" }))]);
        assert_eq!(wire.call(create(&job(true))).code, 201);
    }

    #[test]
    fn nothing_else_is_taken_and_other_refusals_stand() {
        let (code, body) = refused(422);
        let refusal = Reply { code, body };
        let conceded = instead(&create(&job(true)), &refusal).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(conceded.body()).unwrap(), job(false));
        assert!(instead(&create(&job(false)), &refusal).is_none(), "it asks for none");
        let (code, body) = refused(403);
        assert!(instead(&create(&job(true)), &Reply { code, body }).is_none());
    }

    #[test]
    fn an_older_server_is_asked_for_evictions_in_the_version_that_it_knows() {
        // As kube-apiserver 1.20.2 says it.
        let message = format!(
            "Eviction in version \"v1\" cannot be handled as a Eviction: {UNKNOWN_EVICTION} in scheme \
             \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        );
        let refusal = json!({ "kind": "Status", "code": 400, "message": message });
        let wire = scripted::wire(
            None,
            vec![(400, refusal.clone()), (201, json!({ "kind": "Status", "code": 201 }))],
        );
        let eviction = |version: &str| {
            let eviction = json!({ "apiVersion": version, "kind": "Eviction", "metadata": { "name": "p" } });
            let path = "/api/v1/namespaces/ns/pods/p/eviction";
            request(Method::POST, path, Some(("application/json", &eviction)), None).unwrap()
        };
        let conceded = instead(&eviction("policy/v1"), &Reply { code: 400, body: refusal.clone() }).unwrap();
        assert_eq!(conceded.body(), eviction("policy/v1beta1").body());
        assert!(instead(&eviction("policy/v1beta1"), &Reply { code: 400, body: refusal }).is_none());
        assert_eq!(wire.call(eviction("policy/v1")).code, 201);
    }
}
