//! kind: Kubernetes in Docker.

use super::commands::Commands;
use super::{BackendError, QUESTION, ReportProgress, Tool, lines, words};

pub(super) struct Kind {
    /// The image of its nodes, if not the default.
    pub(super) image: Option<String>,
}

impl Tool for Kind {
    fn program(&self) -> &'static str {
        "kind"
    }

    fn how_to_get(&self) -> &'static str {
        "see https://kind.sigs.k8s.io/docs/user/quick-start/#installation, or `go install sigs.k8s.io/kind@latest`"
    }

    fn version(&self) -> Vec<String> {
        words(&["version"])
    }

    fn create(&self, name: &str, kubeconfig: &str) -> Vec<String> {
        let mut line =
            words(&["create", "cluster", "--name", name, "--kubeconfig", kubeconfig, "--wait", "5m"]);
        line.extend(self.image.iter().flat_map(|image| words(&["--image", image])));
        line
    }

    fn delete(&self, name: &str, kubeconfig: &str) -> Vec<String> {
        words(&["delete", "cluster", "--name", name, "--kubeconfig", kubeconfig])
    }

    fn list(&self) -> Vec<String> {
        words(&["get", "clusters"])
    }

    fn names(&self, printed: &str) -> Option<Vec<String>> {
        lines(printed)
    }

    fn nodes(&self, name: &str) -> Vec<String> {
        words(&["get", "nodes", "--name", name])
    }

    fn node_names(&self, _: &str, printed: &str) -> Option<Vec<String>> {
        lines(printed)
    }

    fn load_image(&self, name: &str, image: &str) -> Option<Vec<String>> {
        Some(words(&["load", "docker-image", image, "--name", name]))
    }

    fn kubeconfig(
        &self,
        commands: &Commands,
        name: &str,
        _: &ReportProgress,
    ) -> Result<String, BackendError> {
        commands.text(&["get", "kubeconfig", "--name", name], QUESTION)
    }
}
