//! The policy of a namespace, from its labels.

use std::fmt;

use serde_json::{Map, Value, json};
use windtunnel_core::requests::admission::InvalidField;

const PREFIX: &str = "pod-security.kubernetes.io/";

/// A level of the Pod Security Standards; each one includes the checks of the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A version of the Pod Security Standards: that of a Kubernetes 1.x, or the newest one that the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Minor(i64),
    Latest,
}

/// A level in a version, such as `restricted:latest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    pub(super) version: Version,
}

/// The standards that pods of a namespace are checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Policy {
    /// Pods that violate it are rejected.
    pub(super) enforce: Standard,
    /// Without an audit log, it is only shown.
    pub(super) audit: Standard,
    /// Clients that write pods and templates that violate it get a warning.
    pub(super) warn: Standard,
}

impl Default for Standard {
    /// That of namespaces without labels.
    fn default() -> Self {
        Self { level: Level::Privileged, version: Version::Latest }
    }
}

impl Level {
    /// What is expected where another text is.
    pub(super) const EXPECTED: &str = "must be one of privileged, baseline, restricted";

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

impl Version {
    /// What is expected where another text is.
    pub(super) const EXPECTED: &str = r#"must be "latest" or "v1.x""#;

    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        digits.parse().ok().map(Self::Minor)
    }

    /// The version that a server of this minor checks: it treats later ones as its own.
    pub(super) fn known_to(self, server_minor: u32) -> u32 {
        match self {
            Self::Minor(minor) => u32::try_from(minor).map_or(server_minor, |minor| minor.min(server_minor)),
            Self::Latest => server_minor,
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(to, "{level}:latest"),
            Version::Minor(minor) => write!(to, "{level}:v1.{minor}"),
        }
    }
}

/// Reads the labels of a namespace and collects the errors in them.
struct Reader<'a> {
    labels: &'a Value,
    errors: Vec<InvalidField>,
}

impl Reader<'_> {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels[format!("{PREFIX}{name}")].as_str()
    }

    /// The value of a label after parsing; `otherwise` if it is invalid, `None` if there is no label.
    fn parsed<T>(
        &mut self,
        name: &str,
        parse: fn(&str) -> Option<T>,
        otherwise: T,
        expected: &str,
    ) -> Option<T> {
        let text = self.label(name)?.to_owned();
        let parsed = parse(&text);
        if parsed.is_none() {
            let field = format!("metadata.labels[{PREFIX}{name}]");
            self.errors.push(InvalidField { field, value: json!(text), detail: expected.to_owned() });
        }
        Some(parsed.unwrap_or(otherwise))
    }

    /// The standard of a mode: without labels the default one. An invalid level means `otherwise`.
    fn standard(&mut self, mode: &str, default: Standard, otherwise: Level) -> Standard {
        let level = self.parsed(mode, Level::parse, otherwise, Level::EXPECTED);
        let version =
            self.parsed(&format!("{mode}-version"), Version::parse, Version::Latest, Version::EXPECTED);
        Standard { level: level.unwrap_or(default.level), version: version.unwrap_or(default.version) }
    }
}

impl Policy {
    /// The policy in the labels of a namespace, and the errors in them. With `warns_as_it_enforces`, a namespace that only
    /// enforces a level also warns about it.
    pub(super) fn read(
        labels: &Value,
        defaults: &Self,
        warns_as_it_enforces: bool,
    ) -> (Self, Vec<InvalidField>) {
        let is_labelled = |labels: &Map<String, Value>| labels.keys().any(|key| key.starts_with(PREFIX));
        if !labels.as_object().is_some_and(is_labelled) {
            return (*defaults, Vec::new());
        }
        let mut reader = Reader { labels, errors: Vec::new() };
        let enforce = reader.standard("enforce", defaults.enforce, Level::Restricted);
        let audit = reader.standard("audit", defaults.audit, Level::Privileged);
        let mut warn = reader.standard("warn", defaults.warn, Level::Privileged);
        let enforces = reader.label("enforce").is_some_and(|level| Level::parse(level).is_some());
        if warns_as_it_enforces && enforces && reader.label("warn").is_none() && enforce.level > warn.level {
            warn.level = enforce.level;
            if reader.label("warn-version").is_none() {
                warn.version = enforce.version;
            }
        }
        (Self { enforce, audit, warn }, reader.errors)
    }

    /// Whether the policy allows all pods without a warning.
    pub(super) fn is_privileged(&self) -> bool {
        self.enforce.level == Level::Privileged && self.warn.level == Level::Privileged
    }

    /// The standards above the privileged one that the labels of a namespace set, such as
    /// `enforce=baseline:latest, warn=baseline:latest`.
    pub(super) fn shown(&self, labels: &Value) -> String {
        let modes = [("enforce", self.enforce), ("audit", self.audit), ("warn", self.warn)];
        let is_set = |(mode, standard): &(&str, Standard)| {
            let has = |suffix: &str| labels[format!("{PREFIX}{mode}{suffix}")].is_string();
            standard.level != Level::Privileged && (has("") || has("-version"))
        };
        let shown = modes.into_iter().filter(is_set).map(|(mode, standard)| format!("{mode}={standard}"));
        shown.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[(&str, &str)]) -> (String, Vec<String>) {
        let labels: Value =
            labels.iter().map(|(name, value)| (format!("{PREFIX}{name}"), json!(value))).collect();
        let (policy, errors) = Policy::read(&labels, &Policy::default(), true);
        let errors = errors.into_iter().map(|error| format!("{}: {}", error.field, error.detail)).collect();
        (format!("{} {}", policy.enforce, policy.warn), errors)
    }

    #[test]
    fn labels_set_levels_and_versions() {
        let rows: [(&[(&str, &str)], &str); 7] = [
            (&[], "privileged:latest privileged:latest"),
            (&[("enforce", "baseline")], "baseline:latest baseline:latest"),
            (&[("enforce", "baseline"), ("warn", "privileged")], "baseline:latest privileged:latest"),
            (&[("enforce", "restricted"), ("enforce-version", "v1.24")], "restricted:v1.24 restricted:v1.24"),
            (&[("enforce", "restricted"), ("warn-version", "v1.9")], "restricted:latest restricted:v1.9"),
            (&[("enforce", "baseline"), ("warn", "restricted")], "baseline:latest restricted:latest"),
            (&[("enforce-version", "v1.0")], "privileged:v1.0 privileged:latest"),
        ];
        for (labels, expected) in rows {
            assert_eq!(read(labels), (expected.to_owned(), Vec::new()), "{labels:?}");
        }
    }

    #[test]
    fn invalid_labels_are_strict_for_enforce_only() {
        let (policy, errors) = read(&[("enforce", "x"), ("warn", "y"), ("audit", "z")]);
        assert_eq!(policy, "restricted:latest privileged:latest");
        assert_eq!(errors.len(), 3);
        for version in ["v1", "1.2", "v1.01", "v2.0", "v1.", "v1.-1", "v1.99999999999999999999"] {
            let (policy, errors) = read(&[("enforce", "baseline"), ("enforce-version", version)]);
            assert_eq!(policy, "baseline:latest baseline:latest");
            let expected =
                r#"metadata.labels[pod-security.kubernetes.io/enforce-version]: must be "latest" or "v1.x""#;
            assert_eq!(errors, [expected], "{version}");
        }
    }

    #[test]
    fn servers_check_later_versions_as_their_own() {
        assert_eq!([Version::Minor(24).known_to(30), Version::Minor(31).known_to(30)], [24, 30]);
        assert_eq!([Version::Latest.known_to(30), Version::Minor(i64::MAX).known_to(30)], [30, 30]);
    }
}
