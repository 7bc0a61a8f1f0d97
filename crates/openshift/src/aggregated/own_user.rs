//! The User of a request.

use serde_json::{Value, json};
use windtunnel_core::Identity;

/// Returns the User `~`: that of a request. One without a User object has no uid (`userregistry`).
pub(super) fn own_user(user: &Identity) -> Value {
    let mut metadata = json!({ "name": user.user });
    if !user.uid.is_empty() {
        metadata["uid"] = json!(user.uid);
    }
    let mut groups: Vec<&str> = user.all_groups().collect();
    groups.sort_unstable();
    json!({
        "kind": "User",
        "apiVersion": "user.openshift.io/v1",
        "metadata": metadata,
        "identities": null,
        "groups": groups,
    })
}
