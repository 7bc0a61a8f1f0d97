//! Requests of components that no role allows.

use super::rule::{ObjectFinding, Rule, Scene, name_of};
use crate::record::WriteEvent;

/// The rule about rights.
pub(super) struct Rights;

impl Rule for Rights {
    fn id(&self) -> String {
        "rbac".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let is_refused =
            write.code == 403 && write.message.contains("User \"") && write.message.contains(" cannot ");
        is_refused.then(|| {
            let WriteEvent { by, verb, message, .. } = write;
            ObjectFinding::new(name_of(write), format!("the {verb} of {by} was refused: {message}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CONFIG_MAPS;

    use crate::oracles::testing::Story;

    #[test]
    fn a_request_without_a_role_is_reported() {
        let map = json!({ "metadata": { "namespace": "n", "name": "m" } });
        let story = || Story::new().write(1, "someone", &CONFIG_MAPS, map.clone());
        assert!(story().findings("rbac").is_empty());
        let refused = story().reject(2, 403, "User \"someone\" cannot update resource \"configmaps\"");
        assert_eq!(
            refused.findings("rbac"),
            [
                "ConfigMap/n/m: the update of someone was refused: User \"someone\" cannot update resource \"configmaps\""
            ]
        );
    }
}
