//! The templates of `windtunnel new`.

/// The templates: name, description, extension, text.
pub(super) const TEMPLATES: &[(&str, &str, &str, &str)] = &[
    ("update", "an update within a minor that completes", "yaml", include_str!("update.yaml")),
    ("bad-digest", "an update to a non-existent release image", "yaml", include_str!("bad-digest.yaml")),
    ("rollback", "an update and its rollback", "yaml", include_str!("rollback.yaml")),
    ("operator", "an operator degraded during an update", "yaml", include_str!("operator.yaml")),
    ("nodes", "a paused pool during an update", "yaml", include_str!("nodes.yaml")),
    ("matrix", "one scenario for several pairs of releases", "yaml", include_str!("matrix.yaml")),
    ("feature", "an update in Gherkin", "feature", include_str!("update.feature")),
];
