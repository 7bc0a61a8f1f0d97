//! AppArmor profiles that once were annotations.

use serde_json::{Value, json};

/// The prefix of the annotations that once were the AppArmor profiles of containers.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Copies AppArmor profiles in annotations to containers without one, and returns warnings
/// (`applyAppArmorVersionSkew`).
pub(in crate::kinds::strategy) fn copy_profiles(pod: &mut Value) -> Vec<String> {
    let annotations = pod["metadata"]["annotations"].as_object().into_iter().flatten();
    let profiles: Vec<(String, String)> = annotations
        .filter_map(|(key, value)| {
            Some((key.strip_prefix(APP_ARMOR)?.to_owned(), value.as_str()?.to_owned()))
        })
        .collect();
    if profiles.is_empty() || pod["spec"]["os"]["name"] == "windows" {
        return Vec::new();
    }
    let of_pod = pod["spec"]["securityContext"]["appArmorProfile"].clone();
    let mut warnings = Vec::new();
    for list in ["initContainers", "containers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let found = profiles.iter().find(|(name, _)| container["name"] == **name);
            let Some((name, annotation)) = found.filter(|_| !has_profile(container)) else { continue };
            let profile = profile_of(annotation);
            if profile.as_ref().is_none_or(|profile| *profile != of_pod) {
                warnings.push(format!(
                    "metadata.annotations[{APP_ARMOR}{name}]: deprecated since v1.30; use the \"appArmorProfile\" \
                     field instead"
                ));
                if let Some(profile) = profile {
                    container["securityContext"]["appArmorProfile"] = profile;
                }
            }
        }
    }
    warnings
}

fn has_profile(container: &Value) -> bool {
    !container["securityContext"]["appArmorProfile"].is_null()
}

/// The profile that an annotation describes (`ApparmorFieldForAnnotation`).
fn profile_of(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({ "type": "Unconfined" })),
        "runtime/default" => Some(json!({ "type": "RuntimeDefault" })),
        _ => {
            let path = annotation.strip_prefix("localhost/")?;
            let is_valid = !path.is_empty() && path.trim() == path && path.len() <= 4095;
            is_valid.then(|| json!({ "type": "Localhost", "localhostProfile": path }))
        }
    }
}
