//! `policy.json`: the registries whose images the container runtime accepts (`updatePolicyJSON` of
//! openshift/machine-config-operator).

use serde_json::{Map, Value, json};

use super::edit::validate_scopes;

/// The path of the file on a node.
pub(super) const PATH: &str = "/etc/containers/policy.json";
/// The least number of slashes in scopes that the transport `atomic` cannot have.
const ATOMIC_SLASHES: usize = 3;

/// The contents of the file that rejects some registries, or all but the allowed ones. `payload` is the repository of the
/// release.
///
/// # Errors
/// The message of the controller: both lists are given, or a scope is not valid.
pub(super) fn text(rejected: &[String], allowed: &[String], payload: &str) -> Result<String, String> {
    if !rejected.is_empty() && !allowed.is_empty() && allowed != [payload] {
        return Err(
            "invalid images config: only one of AllowedRegistries or BlockedRegistries may be specified"
                .to_owned(),
        );
    }
    validate_scopes("blocked", rejected)?;
    validate_scopes("allowed", allowed)?;
    let requirement = |kind: &str| json!([{ "type": kind }]);
    let (accept, reject) = (requirement("insecureAcceptAnything"), requirement("reject"));
    let default = if !allowed.is_empty() && rejected.is_empty() { &reject } else { &accept };
    let mut scopes: Map<String, Value> =
        allowed.iter().map(|scope| (scope.clone(), accept.clone())).collect();
    scopes.extend(rejected.iter().map(|scope| (scope.clone(), reject.clone())));
    let is_atomic = |scope: &str| scope.matches('/').count() < ATOMIC_SLASHES;
    let atomic: Map<String, Value> =
        scopes.iter().filter(|(scope, _)| is_atomic(scope)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let transports = json!({ "atomic": atomic, "docker": scopes, "docker-daemon": { "": accept } });
    let policy = json!({ "default": default, "transports": transports });
    Ok(format!("{policy:#}"))
}
