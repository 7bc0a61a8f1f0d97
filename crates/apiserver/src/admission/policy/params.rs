//! The parameters of a policy: the objects to which a binding refers.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use super::{Binding, Policy};
use crate::admission::Admitter;
use crate::kinds::Kind;
use crate::selector::LabelSelector;

/// Why a policy cannot be evaluated at all: its kind of parameters is not served.
pub(super) fn fault(admitter: &Admitter<'_>, policy: &Policy) -> Option<String> {
    let (api_version, kind) = policy.param_kind.as_ref()?;
    let is_unknown = find_kind(admitter, api_version, kind).is_none();
    is_unknown.then(|| format!("failed to configure policy: {}", unknown_kind(api_version, kind)))
}

fn unknown_kind(api_version: &str, kind: &str) -> String {
    format!("failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'")
}

fn find_kind<'a>(admitter: &Admitter<'a>, api_version: &str, kind: &str) -> Option<&'a Arc<Kind>> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_it = |known: &Resource| known.group == group && known.version == version && known.kind == kind;
    admitter.catalog.served().find(|known| is_it(&known.resource))
}

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
    let Some(known) = find_kind(admitter, api_version, kind) else {
        return Err(unknown_kind(api_version, kind));
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
