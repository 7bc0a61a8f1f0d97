//! The admission plug-ins of an API server alone, by the flags of a kube-apiserver.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use windtunnel_apiserver::AdmissionPlugins;
use windtunnel_core::yaml;

use crate::cli::output::Shown as _;
use crate::cli::{files, print_notice};

/// The file of `--admission-control-config-file` (`apiserver.config.k8s.io/v1`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdmissionConfiguration {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    #[serde(default)]
    plugins: Vec<Plugin>,
}

/// The configuration of a plug-in, or the path of a file with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plugin {
    name: String,
    #[serde(default)]
    path: String,
    configuration: Option<Value>,
}

/// Returns the plug-ins that the flags select: two lists of names with commas, and a configuration file. `server` is how a
/// notice about a plug-in that is not here names the server.
///
/// # Errors
/// A name is unknown, or the file is invalid.
pub(in crate::cli) fn plugins(
    lists: (&str, &str),
    file: Option<&Path>,
    minor: u32,
    server: &str,
) -> Result<AdmissionPlugins, String> {
    let (enabled, disabled) = lists;
    let mut plugins = AdmissionPlugins::parse(enabled, disabled, minor)?;
    for name in plugins.unsupported() {
        print_notice(&format!("{server} has no admission plug-in {name}"));
    }
    if let Some(file) = file {
        configure(&mut plugins, file)?;
    }
    Ok(plugins)
}

fn configure(plugins: &mut AdmissionPlugins, file: &Path) -> Result<(), String> {
    let at = |path: &Path, error: &str| format!("{}: {error}", path.shown());
    let read = |path: &Path| -> Result<Value, String> {
        yaml::from_str(&files::read(path)?).map_err(|error| format!("{}:{error}", path.shown()))
    };
    let document = read(file)?;
    // The oldest form of the file is the configuration of one plug-in.
    if document.get("podNodeSelectorPluginConfig").is_some() {
        return plugins.configure("PodNodeSelector", &document).map_err(|error| at(file, &error));
    }
    let document =
        AdmissionConfiguration::deserialize(document).map_err(|error| at(file, &error.to_string()))?;
    if document.kind != "AdmissionConfiguration"
        || !document.api_version.starts_with("apiserver.config.k8s.io/")
    {
        let found = format!("a {} of {}", document.kind, document.api_version);
        return Err(at(
            file,
            &format!("expected an AdmissionConfiguration of apiserver.config.k8s.io/v1, found {found}"),
        ));
    }
    for Plugin { name, path, configuration } in document.plugins {
        let (place, configuration) = match configuration {
            Some(configuration) => (file.to_owned(), configuration),
            None if path.is_empty() => continue,
            None => {
                let place = file.parent().unwrap_or(Path::new("")).join(path);
                let configuration = read(&place)?;
                (place, configuration)
            }
        };
        plugins.configure(&name, &configuration).map_err(|error| at(&place, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(text: &str) -> Result<AdmissionPlugins, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("admission.yaml");
        std::fs::write(&file, text).unwrap();
        let selectors = "podNodeSelectorPluginConfig: { n: a=b }\n";
        std::fs::write(folder.path().join("selectors.yaml"), selectors).unwrap();
        let outcome = plugins(("PodNodeSelector", ""), Some(&file), 36, "it");
        outcome.map_err(|error| error.replace(&format!("{}/", folder.path().shown()), ""))
    }

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";

    #[test]
    fn configurations_stand_in_the_file_or_beside_it() {
        let inside =
            "- name: PodNodeSelector\n  configuration: { podNodeSelectorPluginConfig: { n: a=b } }\n";
        let beside = "- name: PodNodeSelector\n  path: selectors.yaml\n";
        let expected = configured(&format!("{HEAD}{inside}")).unwrap();
        assert_ne!(expected, plugins(("PodNodeSelector", ""), None, 36, "it").unwrap());
        assert_eq!(configured(&format!("{HEAD}{beside}")), Ok(expected.clone()));
        assert_eq!(configured("podNodeSelectorPluginConfig: { n: a=b }"), Ok(expected));
    }

    #[test]
    fn an_invalid_file_is_an_error_that_names_the_file() {
        let rows = [
            (
                "- name: EventRateLimit\n  configuration: {}\n",
                "admission.yaml: EventRateLimit: windtunnel reads",
            ),
            (
                "- name: PodSecurity\n  configuration: { kind: X }\n",
                "admission.yaml: PodSecurity: missing field",
            ),
            ("- name: PodNodeSelector\n  path: missing.yaml\n", "missing.yaml: "),
            ("- nam: PodNodeSelector\n", "admission.yaml: unknown field `nam`"),
            ("- [\n", "admission.yaml:4:"),
        ];
        for (text, expected) in rows {
            let error = configured(&format!("{HEAD}{text}")).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = configured("apiVersion: v1\nkind: ConfigMap\n").unwrap_err();
        assert!(error.ends_with("found a ConfigMap of v1"), "{error}");
    }
}
