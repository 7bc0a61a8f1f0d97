//! Merges windtunnel's entries into an existing kubeconfig and keeps all others.

use std::path::Path;

use serde_json::{Map, Value, json};
use windtunnel_core::yaml;

use crate::cli::files;
use crate::cli::output::Shown as _;

/// The lists of a kubeconfig, whose entries are identified by `name`.
const LISTS: [&str; 3] = ["clusters", "users", "contexts"];

/// Returns the kubeconfig at `path` with windtunnel's entries added, or these alone if it does not exist.
///
/// # Errors
/// The file cannot be read, or is not a kubeconfig.
pub(super) fn merged(path: &Path, ours: &str) -> Result<String, String> {
    if !path.exists() {
        return Ok(ours.to_owned());
    }
    let read = |text: &str| {
        yaml::from_str::<Value>(text)
            .map_err(|error| format!("{}:{}:{}: {}", path.shown(), error.line, error.column, error.message))
    };
    let mut theirs = match read(&files::read(path)?)? {
        Value::Null => Map::new(),
        Value::Object(map) => map,
        _ => return Err(format!("{}:1:1: expected a kubeconfig (a map)", path.shown())),
    };
    let Value::Object(mut ours) = read(ours)? else { return Ok(ours.to_owned()) };
    for list in LISTS {
        let entry = theirs.entry(list).or_insert_with(|| json!([]));
        if entry.is_null() {
            *entry = json!([]);
        }
        let Some(entries) = entry.as_array_mut() else {
            return Err(format!("{}: expected `{list}` to be a list", path.shown()));
        };
        for new in ours.remove(list).as_ref().and_then(Value::as_array).into_iter().flatten() {
            entries.retain(|old| old["name"] != new["name"]);
            entries.push(new.clone());
        }
    }
    theirs.extend(ours);
    yaml::to_string(&theirs).map_err(|error| format!("{}: {}", path.shown(), error.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: windtunnel, cluster: {server: new}}]\n\
                        users: [{name: windtunnel}]\ncontexts: [{name: windtunnel}]\ncurrent-context: windtunnel\n";

    fn merge(theirs: &str) -> Result<Value, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, theirs).unwrap();
        let text = merged(&path, OURS).map_err(|error| error.replace(&path.shown(), "config"))?;
        Ok(yaml::from_str(&text).unwrap())
    }

    #[test]
    fn replaces_and_selects_its_own_entries_and_keeps_others() {
        let theirs = "current-context: prod\npreferences: {colors: true}\n\
                      clusters: [{name: windtunnel, cluster: {server: old}}, {name: prod, cluster: {server: p}}]\n";
        let config = merge(theirs).unwrap();
        let servers: Vec<&Value> =
            config["clusters"].as_array().unwrap().iter().map(|entry| &entry["cluster"]["server"]).collect();
        assert_eq!(servers, ["p", "new"]);
        assert_eq!(config["current-context"], "windtunnel");
        assert_eq!(config["preferences"]["colors"], true);
        assert_eq!(merge("").unwrap()["users"][0]["name"], "windtunnel");
    }

    #[test]
    fn rejects_a_file_that_is_not_a_kubeconfig() {
        assert_eq!(merge("- a\n"), Err("config:1:1: expected a kubeconfig (a map)".to_owned()));
        assert_eq!(merge("users: {}\n"), Err("config: expected `users` to be a list".to_owned()));
        assert!(merge("a: [\n").unwrap_err().starts_with("config:"));
    }
}
