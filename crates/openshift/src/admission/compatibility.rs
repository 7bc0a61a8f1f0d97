//! The rejection of definitions that a CompatibilityRequirement does not allow (webhook
//! `compatibilityrequirement.operator.openshift.io` of cluster-capi-operator). Here it is a plug-in, and needs
//! no pod and no webhook configuration.

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{COMPATIBILITY_REQUIREMENTS, CUSTOM_RESOURCE_DEFINITIONS};

use crate::compatibility;

const WEBHOOK: &str = "compatibilityrequirement.operator.openshift.io";

/// Checks changes of CustomResourceDefinitions against the CompatibilityRequirements for them. It knows the
/// requirements that their controller has observed (`status.crdName`).
#[derive(Debug, Clone, Copy, Default)]
pub struct CompatibilityRequirements;

impl AdmissionPlugin for CompatibilityRequirements {
    fn name(&self) -> &'static str {
        WEBHOOK
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !request.subresource.is_empty() {
            return Ok(());
        }
        let checked = if *request.resource == COMPATIBILITY_REQUIREMENTS {
            object.map_or(Ok(Vec::new()), |object| {
                compatibility::check_requirement(object).map(|()| Vec::new())
            })
        } else if *request.resource == CUSTOM_RESOURCE_DEFINITIONS {
            let mut requirements = cluster.objects(&COMPATIBILITY_REQUIREMENTS, "");
            requirements.retain(|requirement| requirement.text("/status/crdName") == request.name);
            check_definition(&requirements, object)
        } else {
            return Ok(());
        };
        let denied = |why| format!("admission webhook \"{WEBHOOK}\" denied the request: {why}");
        let warnings = checked.map_err(|why| AdmissionRejection::Denied(denied(why)))?;
        for warning in warnings {
            cluster.warn(warning);
        }
        Ok(())
    }
}

/// Checks a definition, or its deletion, against the requirements for it. Returns warnings.
fn check_definition(requirements: &[Object], definition: Option<&Value>) -> Result<Vec<String>, String> {
    let Some(definition) = definition else {
        let names: Vec<&str> = requirements.iter().map(Object::name).collect();
        return if names.is_empty() {
            Ok(Vec::new())
        } else {
            Err(format!("cannot delete CRD because it has CompatibilityRequirements: {}", names.join(", ")))
        };
    };
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for requirement in requirements {
        let problems = match requirement.text("/spec/customResourceDefinitionSchemaValidation/action") {
            "Deny" => &mut errors,
            "Warn" => &mut warnings,
            _ => continue,
        };
        let name = requirement.name();
        let required = compatibility::required(requirement).map_err(|why| {
            format!("failed to parse compatibilityCRD for CompatibilityRequirement \"{name}\": {why}")
        })?;
        let required = compatibility::without_excluded_fields(required, requirement).map_err(|why| {
            format!("failed to prune excluded fields for CompatibilityRequirement \"{name}\": {why}")
        })?;
        let found = compatibility::incompatibilities(&required, definition).into_iter();
        problems
            .extend(found.map(|text| {
                format!("This requirement was added by CompatibilityRequirement {name}: {text}")
            }));
    }
    if errors.is_empty() {
        return Ok(warnings);
    }
    Err(format!("CRD is not compatible with CompatibilityRequirements: {}", errors.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compatibility::tests::{definition, requirement};

    fn check(action: &str, excluded: &Value, fields: &[&str]) -> Result<Vec<String>, String> {
        let object = requirement(action, &definition(&["v1"], &["size", "color"]), excluded);
        check_definition(&[object], Some(&definition(&["v1"], fields)))
    }

    #[test]
    fn a_removed_field_is_rejected_or_causes_a_warning() {
        let text =
            "This requirement was added by CompatibilityRequirement r: removed field : v1.^.spec.color";
        let denied = format!("CRD is not compatible with CompatibilityRequirements: {text}");
        assert_eq!(check("Deny", &Value::Null, &["size"]), Err(denied));
        assert_eq!(check("Warn", &Value::Null, &["size"]), Ok(vec![text.to_owned()]));
        assert_eq!(check("", &Value::Null, &["size"]), Ok(Vec::new()), "the requirement asks for no check");
        assert_eq!(check("Deny", &Value::Null, &["size", "color", "shape"]), Ok(Vec::new()));
    }

    #[test]
    fn an_excluded_field_may_be_removed() {
        let excluded = json!([{ "path": "spec.color", "versions": ["v1"] }]);
        assert_eq!(check("Deny", &excluded, &["size"]), Ok(Vec::new()));
        let missing = json!([{ "path": "spec.shape", "versions": ["v1"] }]);
        let error = check("Deny", &missing, &["size"]).unwrap_err();
        assert!(
            error.ends_with(
                "path not found in schema: desired path ^.spec.shape, path ^.spec is missing child shape"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_definition_with_requirements_cannot_be_deleted() {
        let object = requirement("Warn", &definition(&["v1"], &[]), &Value::Null);
        let error = "cannot delete CRD because it has CompatibilityRequirements: r";
        assert_eq!(check_definition(&[object], None), Err(error.to_owned()));
        assert_eq!(check_definition(&[], None), Ok(Vec::new()));
    }
}
