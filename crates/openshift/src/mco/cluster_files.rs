//! Files of nodes that follow from objects of the cluster: registries, the global pull secret and the proxy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIGS, SECRETS};
use windtunnel_core::{Key, Object, View, pull_secret};

use super::node_settings::file;

/// The path of the global pull secret on a node.
const PULL_SECRET_PATH: &str = "/var/lib/kubelet/config.json";
const PULL_SECRET_MODE: u32 = 0o600;
/// The path of the environment variables of services that use the proxy.
const PROXY_PATH: &str = "/etc/mco/proxy.env";
/// A MachineConfig with the global pull secret.
const WITH_PULL_SECRET: &str = "00-worker";

/// The files.
#[derive(Debug, Clone)]
pub(super) struct ClusterFiles {
    registries: Vec<Value>,
    /// `None` in a cluster that never had a pull secret.
    pull_secret: Option<Value>,
    proxy: Value,
}

impl ClusterFiles {
    /// The files in a cluster with this status of its proxy and with these files for its registries. Without a pull
    /// secret that can be read, the file of the present MachineConfigs stays.
    pub(super) fn of(view: &View, proxy: &Value, registries: Vec<Value>) -> Self {
        let secret = view.get_key(&pull_secret_key()).and_then(secret_text);
        let pull_secret =
            secret.map_or_else(|| present_pull_secret(view), |text| Some(pull_secret_file(&text)));
        Self { registries, pull_secret, proxy: proxy_file(proxy) }
    }

    /// The files for the registries.
    pub(super) fn registries(&self) -> &[Value] {
        &self.registries
    }

    /// The file with the global pull secret.
    pub(super) fn pull_secret(&self) -> Option<&Value> {
        self.pull_secret.as_ref()
    }

    /// The file with the proxy.
    pub(super) fn proxy(&self) -> &Value {
        &self.proxy
    }
}

/// Whether a file is the pull secret or the proxy of every new cluster.
pub(super) fn is_installed(file: &Value) -> bool {
    let installed = || String::from_utf8(STANDARD.decode(pull_secret::INSTALLED).ok()?).ok();
    match file["path"].as_str() {
        Some(PULL_SECRET_PATH) => installed().is_some_and(|text| *file == pull_secret_file(&text)),
        Some(PROXY_PATH) => *file == proxy_file(&Value::Null),
        _ => false,
    }
}

/// The key of the global pull secret.
pub(super) fn pull_secret_key() -> Key {
    SECRETS.key(pull_secret::NAMESPACE, pull_secret::NAME)
}

/// The contents of the Secret. `None` if they are no JSON, as in a record, which has other text in their place.
fn secret_text(secret: &Object) -> Option<String> {
    // The Secret of a planned cluster has not been stored yet.
    let plain = secret["stringData"][pull_secret::KEY].as_str().map(str::to_owned);
    let text = plain.or_else(|| {
        let encoded = secret["data"][pull_secret::KEY].as_str()?;
        String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
    })?;
    serde_json::from_str::<Value>(&text).ok().map(|_| text)
}

fn pull_secret_file(text: &str) -> Value {
    let mut file = file(PULL_SECRET_PATH, text);
    file["mode"] = json!(PULL_SECRET_MODE);
    file
}

fn present_pull_secret(view: &View) -> Option<Value> {
    let config = view.get(&MACHINE_CONFIGS, "", WITH_PULL_SECRET)?;
    config.list("/spec/config/storage/files").iter().find(|file| file["path"] == PULL_SECRET_PATH).cloned()
}

fn proxy_file(proxy: &Value) -> Value {
    let variables = [("HTTP_PROXY", "httpProxy"), ("HTTPS_PROXY", "httpsProxy"), ("NO_PROXY", "noProxy")];
    let lines = variables.into_iter().filter_map(|(name, field)| {
        proxy[field].as_str().filter(|text| !text.is_empty()).map(|text| format!("{name}={text}\n"))
    });
    file(PROXY_PATH, &lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_cluster_has_the_known_pull_secret() {
        let mut base = crate::manifests::objects("base").iter();
        let secret = base.find(|object| object["kind"] == "Secret").unwrap();
        assert_eq!(secret["data"][pull_secret::KEY], pull_secret::INSTALLED);
        let text = secret_text(&Object::new(secret.clone())).unwrap();
        assert!(is_installed(&pull_secret_file(&text)) && is_installed(&proxy_file(&Value::Null)));
        assert!(!is_installed(&pull_secret_file("{}")));
        assert!(!is_installed(&file(PULL_SECRET_PATH, &text)), "another mode");
    }
}
