//! Converts writes to HTTP requests.

use http::{Method, Request};
use serde_json::{Value, json};
use windtunnel_core::{DeleteOptions, Identity, Operation, Propagation, Resource, Write};

use super::wire;

/// Returns the request for a write of the component `by` as `who`.
///
/// # Errors
/// The path or a header is invalid.
pub(super) fn request(by: &str, who: &Identity, write: &Write) -> Result<Request<Vec<u8>>, String> {
    let Write { resource, namespace, name, subresource, operation } = write;
    let named = match (operation, subresource) {
        (Operation::Create(_), None) => "",
        _ => name,
    };
    let mut path = resource.path(namespace, named);
    if let Some(subresource) = subresource {
        path += &format!("/{subresource}");
    }
    let own = |object: &Value| with_kind(object, resource);
    let (method, media, body) = match operation {
        Operation::Create(object) => (Method::POST, "application/json", own(object)),
        Operation::Update(object) => (Method::PUT, "application/json", own(object)),
        Operation::MergePatch(patch) => (Method::PATCH, "application/merge-patch+json", patch.clone()),
        Operation::JsonPatch(patch) => (Method::PATCH, "application/json-patch+json", patch.clone()),
        Operation::Delete(options) => (Method::DELETE, "application/json", delete_options(options)),
    };
    wire::request(method, &path, Some((media, &body)), Some((by, who)))
}

/// Returns an object with kind and API version, which requests need.
fn with_kind(object: &Value, resource: &Resource) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.entry("apiVersion").or_insert_with(|| json!(resource.api_version()));
        fields.entry("kind").or_insert_with(|| json!(resource.kind));
    }
    object
}

fn delete_options(options: &DeleteOptions) -> Value {
    let mut body = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    if let Some(seconds) = options.grace_period_seconds {
        body["gracePeriodSeconds"] = json!(seconds);
    }
    if let Some(uid) = &options.uid {
        body["preconditions"]["uid"] = json!(uid);
    }
    if let Some(propagation) = options.propagation {
        body["propagationPolicy"] = json!(match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        });
    }
    body
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::{CLUSTER_VERSIONS, CONFIG_MAPS, NODES};

    use super::*;

    fn request_line(write: &Write) -> String {
        let request = request("someone", &Identity::admin(), write).unwrap();
        let media = request.headers()["content-type"].to_str().unwrap();
        let body = String::from_utf8_lossy(request.body());
        format!("{} {} {media} {body}", request.method(), request.uri())
    }

    #[test]
    fn converts_each_operation_to_the_request_of_a_client() {
        let object = json!({ "metadata": { "namespace": "a", "name": "b" } });
        assert_eq!(
            request_line(&Write::create(&CONFIG_MAPS, object)),
            "POST /api/v1/namespaces/a/configmaps application/json \
             {\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\",\"namespace\":\"a\"}}"
        );
        assert_eq!(
            request_line(&Write::merge_patch_status(&CLUSTER_VERSIONS, "", "version", json!({}))),
            "PATCH /apis/config.openshift.io/v1/clusterversions/version/status application/merge-patch+json {}"
        );
        assert_eq!(
            request_line(&Write::delete_now(&NODES, "", "n")),
            "DELETE /api/v1/nodes/n application/json \
             {\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,\"kind\":\"DeleteOptions\"}"
        );
        assert!(
            request_line(&Write::evict("a", "p")).starts_with("POST /api/v1/namespaces/a/pods/p/eviction ")
        );
        assert!(
            request_line(&Write::bind("a", "p", "n"))
                .starts_with("POST /api/v1/namespaces/a/pods/p/binding ")
        );
    }
}
