//! The configuration of the plug-in (`PodSecurityConfiguration`): the policy of namespaces without labels, and exemptions.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::policy::{Level, Policy, Standard, Version};
use crate::names::NameRule;

/// The default policy and the exemptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    pub(super) defaults: Policy,
    namespaces: BTreeSet<String>,
    users: BTreeSet<String>,
    runtime_classes: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    exemptions: Exemptions,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Defaults {
    enforce: String,
    enforce_version: String,
    audit: String,
    audit_version: String,
    warn: String,
    warn_version: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct Exemptions {
    usernames: Vec<String>,
    namespaces: Vec<String>,
    runtime_classes: Vec<String>,
}

impl Settings {
    /// Reads a configuration.
    ///
    /// # Errors
    /// It has another kind, an unknown field, or an invalid value.
    pub(crate) fn read(configuration: &Value) -> Result<Self, String> {
        let document = Document::deserialize(configuration).map_err(|error| error.to_string())?;
        let (group, version) = document.api_version.split_once('/').unwrap_or_default();
        let is_known = group == "pod-security.admission.config.k8s.io"
            && ["v1", "v1beta1", "v1alpha1"].contains(&version);
        if !is_known || document.kind != "PodSecurityConfiguration" {
            return Err(format!(
                "expected a PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1, found a {} of {}",
                document.kind, document.api_version
            ));
        }
        let Defaults { enforce, enforce_version, audit, audit_version, warn, warn_version } =
            document.defaults;
        let Exemptions { usernames, namespaces, runtime_classes } = document.exemptions;
        Ok(Self {
            defaults: Policy {
                enforce: standard("enforce", &enforce, &enforce_version)?,
                audit: standard("audit", &audit, &audit_version)?,
                warn: standard("warn", &warn, &warn_version)?,
            },
            namespaces: names("namespaces", namespaces, |name| NameRule::Label.check(name))?,
            users: names("usernames", usernames, |name| {
                if name.is_empty() { vec!["username must not be empty".to_owned()] } else { Vec::new() }
            })?,
            runtime_classes: names("runtimeClasses", runtime_classes, |name| {
                NameRule::Subdomain.check(name)
            })?,
        })
    }

    pub(super) fn exempts_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    pub(super) fn exempts_user(&self, user: &str) -> bool {
        self.users.contains(user)
    }

    /// Whether pods with this `spec` are exempt for their runtime class.
    pub(super) fn exempts_spec(&self, spec: &Value) -> bool {
        spec["runtimeClassName"].as_str().is_some_and(|class| self.runtime_classes.contains(class))
    }
}

fn standard(mode: &str, level: &str, version: &str) -> Result<Standard, String> {
    let invalid =
        |field: &str, value: &str, expected: &str| format!("defaults.{field}: {expected}, not {value:?}");
    Ok(Standard {
        level: match level {
            "" => Level::Privileged,
            given => Level::parse(given).ok_or_else(|| invalid(mode, given, Level::EXPECTED))?,
        },
        version: match version {
            "" => Version::Latest,
            given => Version::parse(given)
                .ok_or_else(|| invalid(&format!("{mode}-version"), given, Version::EXPECTED))?,
        },
    })
}

fn names(
    field: &str,
    given: Vec<String>,
    check: impl Fn(&str) -> Vec<String>,
) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for (index, name) in given.into_iter().enumerate() {
        let at = format!("exemptions.{field}[{index}]");
        let errors = check(&name);
        if !errors.is_empty() {
            return Err(format!("{at}: {name:?}: {}", errors.join(", ")));
        }
        if names.contains(&name) {
            return Err(format!("{at}: {name:?} occurs twice"));
        }
        names.insert(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
    fn read(defaults: Value, exemptions: Value) -> Result<Settings, String> {
        Settings::read(&json!({
            "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
            "defaults": defaults, "exemptions": exemptions,
        }))
    }

    #[test]
    fn a_configuration_has_defaults_and_exemptions() {
        let settings = read(
            json!({ "enforce": "baseline", "enforce-version": "v1.30", "audit": "restricted" }),
            json!({ "usernames": ["u"], "namespaces": ["n"], "runtimeClasses": ["r.x"] }),
        )
        .unwrap();
        assert_eq!(settings.defaults.enforce.to_string(), "baseline:v1.30");
        assert_eq!(settings.defaults.audit.to_string(), "restricted:latest");
        assert_eq!(settings.defaults.warn.to_string(), "privileged:latest");
        assert!(settings.exempts_user("u") && settings.exempts_namespace("n"));
        assert!(settings.exempts_spec(&json!({ "runtimeClassName": "r.x" })));
        assert!(!settings.exempts_spec(&json!({})) && !settings.exempts_user("n"));
    }

    #[test]
    fn what_is_wrong_in_a_configuration_is_named() {
        let none = || json!({});
        let rows = [
            (read(json!({ "enforce": "x" }), none()), "defaults.enforce: must be one of"),
            (read(json!({ "warn-version": "1.2" }), none()), "defaults.warn-version: must be \"latest\""),
            (read(none(), json!({ "namespaces": ["a", "A"] })), "exemptions.namespaces[1]: \"A\": "),
            (read(none(), json!({ "usernames": ["a", "a"] })), "exemptions.usernames[1]: \"a\" occurs twice"),
            (read(none(), json!({ "users": [] })), "unknown field `users`"),
            (
                Settings::read(&json!({ "apiVersion": "v1", "kind": "X" })),
                "expected a PodSecurityConfiguration",
            ),
        ];
        for (outcome, expected) in rows {
            let error = outcome.unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
