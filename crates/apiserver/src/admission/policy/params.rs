//! The parameters of a policy: the objects to which a binding refers.

use std::sync::Arc;

use serde_json::Value;

use super::{Binding, Policy};
use crate::admission::Admitter;
use crate::selector::LabelSelector;

/// The parameters with which to evaluate a policy. A single null means that the policy has no parameters.
///
/// # Errors
/// The real server's message about missing or invalid parameters.
pub(super) fn collect(
    admitter: &Admitter<'_>,
    policy: &Policy,
    binding: &Binding,
    namespace: &str,
) -> Result<Vec<Arc<Value>>, String> {
    let no_params = || Ok(vec![Arc::new(Value::Null)]);
    let (Some((api_version, kind)), true) = (&policy.param_kind, binding.param_ref.is_object()) else {
        return no_params();
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = admitter.catalog.served().find(|known| {
        known.resource.group == group
            && known.resource.version == version
            && known.resource.kind == kind.as_str()
    });
    let Some(known) = known else {
        return Err(format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'"));
    };
    let reference = &binding.param_ref;
    let own = reference["namespace"].as_str().unwrap_or_default();
    let within = match (known.resource.namespaced, own, namespace) {
        (false, "", _) => "",
        (false, ..) => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
        (true, "", "") => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, "", request_namespace) => request_namespace,
        (true, own, _) => own,
    };
    let found: Vec<Arc<Value>> = match reference["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => admitter
            .store
            .get(known.table, within, name)
            .map(|entry| entry.served().whole())
            .into_iter()
            .collect(),
        None => {
            let selector = LabelSelector::from_object(&reference["selector"]);
            let all = admitter.store.list(known.table, within).map(|(_, _, entry)| entry.served().whole());
            all.filter(|object| selector.matches(&object["metadata"]["labels"])).collect()
        }
    };
    if !found.is_empty() {
        return Ok(found);
    }
    if reference["parameterNotFoundAction"] == "Deny" {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found)
}
