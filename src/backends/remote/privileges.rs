//! Clusters whose API server allows no privileged containers, as it does unless it is told to (`--allow-privileged`). Nothing of a
//! simulated pod ever touches a machine, so there it is made without the privilege.

use http::Request;
use serde_json::Value;

use super::wire::Reply;

/// What such a server says of each of these containers.
const FORBIDDEN: &str = "privileged: Forbidden: disallowed by cluster policy";

/// What to send instead of a request that was refused for its privileges; nothing where that is not why.
pub(super) fn without(request: &Request<Vec<u8>>, refused: &Reply) -> Option<Request<Vec<u8>>> {
    let why = refused.body["message"].as_str().unwrap_or_default();
    if refused.code != 422 || !why.contains(FORBIDDEN) {
        return None;
    }
    let mut body: Value = serde_json::from_slice(request.body()).ok()?;
    take(&mut body).then(|| request.clone().map(|_| body.to_string().into_bytes()))
}

/// Takes the privilege from all containers in a body, whatever that is; true if there was one.
fn take(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let context = fields.get_mut("securityContext").and_then(Value::as_object_mut);
            let mut taken = context.is_some_and(|context| context.remove("privileged") == Some(true.into()));
            for field in fields.values_mut() {
                taken |= take(field);
            }
            taken
        }
        Value::Array(items) => items.iter_mut().fold(false, |taken, item| taken | take(item)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::super::scripted;
    use super::super::wire::request;
    use super::*;

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
        let instead = without(&create(&job(true)), &refusal).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(instead.body()).unwrap(), job(false));
        assert!(without(&create(&job(false)), &refusal).is_none(), "it asks for none");
        let (code, body) = refused(403);
        assert!(without(&create(&job(true)), &Reply { code, body }).is_none());
    }
}
