//! k3d: k3s in Docker.

use serde_json::Value;

use super::commands::Commands;
use super::{BackendError, QUESTION, ReportProgress, Tool, words};

pub(super) struct K3d {
    /// The image of its nodes, if not the default.
    pub(super) image: Option<String>,
}

fn items(printed: &str) -> Option<Vec<Value>> {
    serde_json::from_str(printed).ok()
}

fn name(item: &Value) -> Option<String> {
    item["name"].as_str().map(str::to_owned)
}

impl Tool for K3d {
    fn program(&self) -> &'static str {
        "k3d"
    }

    fn how_to_get(&self) -> &'static str {
        "see https://k3d.io/stable/#installation, or `go install github.com/k3d-io/k3d/v5@latest`"
    }

    fn version(&self) -> Vec<String> {
        words(&["version"])
    }

    fn create(&self, name: &str, _: &str) -> Vec<String> {
        let mut line = words(&[
            "cluster",
            "create",
            name,
            "--no-lb",
            "--kubeconfig-update-default=false",
            "--kubeconfig-switch-context=false",
            "--wait",
            "--timeout",
            "5m",
        ]);
        line.extend(self.image.iter().flat_map(|image| words(&["--image", image])));
        line
    }

    fn delete(&self, name: &str, _: &str) -> Vec<String> {
        words(&["cluster", "delete", name])
    }

    fn list(&self) -> Vec<String> {
        words(&["cluster", "list", "--output", "json"])
    }

    fn names(&self, printed: &str) -> Option<Vec<String>> {
        items(printed)?.iter().map(name).collect()
    }

    fn nodes(&self, _: &str) -> Vec<String> {
        words(&["node", "list", "--output", "json"])
    }

    fn node_names(&self, cluster: &str, printed: &str) -> Option<Vec<String>> {
        let items = items(printed)?;
        items.iter().filter(|node| node["runtimeLabels"]["k3d.cluster"] == cluster).map(name).collect()
    }

    fn load_image(&self, name: &str, image: &str) -> Option<Vec<String>> {
        Some(words(&["image", "import", image, "--cluster", name]))
    }

    fn kubeconfig(
        &self,
        commands: &Commands,
        name: &str,
        _: &ReportProgress,
    ) -> Result<String, BackendError> {
        commands.text(&["kubeconfig", "get", name], QUESTION)
    }
}
