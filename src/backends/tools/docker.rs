//! Plain Docker: a container is a cluster.

use std::io::Read as _;
use std::time::Duration;

use super::commands::Commands;
use super::{BackendError, QUESTION, ReportProgress, Tool, words};

const LABEL: &str = "windtunnel.dev/cluster";
const PORT: &str = "6443";
/// The maximum number of polls until a container serves, and their interval.
const POLLS: u32 = 240;
const PAUSE: Duration = Duration::from_millis(500);

/// The settings of a container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recipe {
    /// The image.
    pub image: String,
    /// Flags of `docker run`.
    pub flags: Vec<String>,
    /// Arguments of the program in the image.
    pub arguments: Vec<String>,
    /// The path of the program's kubeconfig in the container.
    pub kubeconfig: String,
    /// Whether a kubelet runs in the container.
    pub has_kubelets: bool,
}

impl Recipe {
    /// Returns the recipe for windtunnel's own API server.
    pub fn windtunnel(image: &str) -> Self {
        Self {
            image: image.to_owned(),
            flags: words(&["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]),
            arguments: Vec::new(),
            kubeconfig: "/run/windtunnel/kubeconfig".to_owned(),
            has_kubelets: false,
        }
    }

    /// Returns the recipe for k3s: one node, without optional components.
    pub fn k3s(image: &str) -> Self {
        Self {
            image: image.to_owned(),
            flags: words(&["--privileged", "--userns", "host", "--tmpfs", "/run", "--tmpfs", "/var/run"]),
            arguments: words(&[
                "server",
                "--disable=traefik,servicelb,metrics-server",
                "--tls-san=127.0.0.1",
            ]),
            kubeconfig: "/etc/rancher/k3s/k3s.yaml".to_owned(),
            has_kubelets: true,
        }
    }
}

/// The program `docker`, or another one with the same arguments.
pub(super) struct Docker(pub(super) Recipe);

impl Tool for Docker {
    fn program(&self) -> &'static str {
        "docker"
    }

    fn how_to_get(&self) -> &'static str {
        "see https://docs.docker.com/engine/install/"
    }

    fn version(&self) -> Vec<String> {
        words(&["version", "--format", "docker {{.Server.Version}}"])
    }

    fn create(&self, name: &str, _: &str) -> Vec<String> {
        let label = format!("{LABEL}={name}");
        let mut line = words(&["run", "--detach", "--name", name, "--label", &label]);
        line.extend(self.0.flags.iter().cloned());
        line.extend(words(&["--publish", &format!("127.0.0.1::{PORT}"), &self.0.image]));
        line.extend(self.0.arguments.iter().cloned());
        line
    }

    fn delete(&self, name: &str, _: &str) -> Vec<String> {
        words(&["rm", "--force", "--volumes", name])
    }

    fn list(&self) -> Vec<String> {
        words(&["ps", "--all", "--filter", &format!("label={LABEL}"), "--format", "{{.Names}}"])
    }

    fn names(&self, printed: &str) -> Option<Vec<String>> {
        super::lines(printed)
    }

    fn nodes(&self, name: &str) -> Vec<String> {
        words(&["ps", "--filter", &format!("label={LABEL}={name}"), "--format", "{{.Names}}"])
    }

    fn node_names(&self, _: &str, printed: &str) -> Option<Vec<String>> {
        super::lines(printed)
    }

    fn load_image(&self, _: &str, _: &str) -> Option<Vec<String>> {
        None
    }

    /// Returns the kubeconfig from the container, with the published address.
    #[expect(clippy::disallowed_methods, reason = "programs take their time on the wall")]
    fn kubeconfig(
        &self,
        commands: &Commands,
        name: &str,
        report: &ReportProgress,
    ) -> Result<String, BackendError> {
        let from = format!("{name}:{}", self.0.kubeconfig);
        let mut tries = 0;
        let archive = loop {
            match commands.run(&["cp", &from, "-"], QUESTION) {
                Ok(archive) => break archive,
                Err(error) if tries >= POLLS => return Err(error),
                Err(_) => {}
            }
            let running = ["inspect", "--format", "{{.State.Running}}", name];
            if commands.text(&running, QUESTION)?.trim() != "true" {
                let logs = commands.run(&["logs", "--tail", "3", name], QUESTION).unwrap_or_default();
                let logs = String::from_utf8_lossy(&logs).trim().to_owned();
                return Err(BackendError::Failed(format!("container {name} exited: {logs}")));
            }
            if tries == 0 {
                report(&format!("waiting for container {name} to serve"));
            }
            std::thread::sleep(PAUSE);
            tries += 1;
        };
        let text =
            first_file(&archive).ok_or_else(|| commands.unexpected_output(&["cp", &from], "no archive"))?;
        let address = commands.text(&["port", name, PORT], QUESTION)?;
        let address = address.lines().next().unwrap_or_default().trim().to_owned();
        Ok(with_server(&text, &format!("https://{address}")))
    }
}

/// Returns the text of the first file of an archive.
fn first_file(archive: &[u8]) -> Option<String> {
    let mut archive = tar::Archive::new(archive);
    let mut text = String::new();
    archive.entries().ok()?.next()?.ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns a kubeconfig with another server address.
fn with_server(kubeconfig: &str, url: &str) -> String {
    let lines = kubeconfig.lines().map(|line| match line.split_once("server:") {
        Some((indent, _)) if indent.trim().is_empty() => format!("{indent}server: {url}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_server_of_a_kubeconfig() {
        let text = "clusters:\n- cluster:\n    server: https://127.0.0.1:6443\n  name: default\n";
        let expected = "clusters:\n- cluster:\n    server: https://127.0.0.1:32768\n  name: default\n";
        assert_eq!(with_server(text, "https://127.0.0.1:32768"), expected);
    }

    #[test]
    fn invalid_archives_contain_no_file() {
        assert_eq!(first_file(b"no archive"), None);
        assert_eq!(first_file(b""), None);
    }
}
