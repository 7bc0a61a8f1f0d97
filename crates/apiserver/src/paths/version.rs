//! `/version`.

use serde_json::{Value, json};

/// The version info of a kube-apiserver 1.`minor`. `git_version` is its full version, such as `v1.31.4`.
pub(super) fn answer(minor: u32, git_version: Option<&str>) -> Value {
    json!({
        "major": "1", "minor": minor.to_string(),
        "gitVersion": git_version.map_or_else(|| format!("v1.{minor}.0"), str::to_owned),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.24.0", "compiler": "gc", "platform": "linux/amd64",
    })
}
