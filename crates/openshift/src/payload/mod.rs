//! A release payload as files: the folder that `oc adm release extract` writes, or the two folders of a
//! release image.
//!
//! Parsing is pure: it takes names and texts, and returns the manifests in the order in which a
//! cluster-version operator loads them, or all errors in the files.

mod documents;
mod metadata;
mod selection;
mod template;
#[cfg(test)]
mod tests;
mod verification;

use std::sync::{Arc, LazyLock};

use regex::Regex;
use semver::Version;
use serde_json::Value;

pub use selection::Selection;
use template::ExpandError;
pub use verification::Verification;

/// The folder of the operator's own manifests in a release image, which are templates.
pub const OWN: &str = "manifests";
/// The folder of all other manifests.
pub const RELEASE: &str = "release-manifests";
/// The file with the version of the release.
pub const METADATA: &str = "release-metadata";
/// The file with the images of the release.
pub const IMAGES: &str = "image-references";

/// The first version that skips templates with unknown fields.
const SKIPS_UNKNOWN_FIELDS: Version = Version::new(4, 22, 0);
/// The annotation with the capabilities that a manifest requires, joined by `+`.
const CAPABILITY: &str = "capability.openshift.io/name";
/// `0000_<run level>_<component>_...`, as the operator parses file names.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^0000_([0-9]+)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*?)_").expect("a valid pattern")
});

/// A file: its path below the payload's folder, with `/`, and its text.
pub type File = (String, String);

/// A parsed payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// The version in its metadata.
    pub version: Version,
    /// The channels in its metadata, sorted.
    pub channels: Vec<String>,
    /// Advisory URL in the metadata, or empty.
    pub url: String,
    /// Minor of Kubernetes 1.x in its images, if they have it.
    pub kubernetes_minor: Option<u32>,
    /// All manifests in load order, including those that some clusters exclude.
    pub manifests: Vec<Manifest>,
}

/// One object of a payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Name of its file, without folders.
    pub file: String,
    /// Run level in the file name, as text. Empty if the name has none.
    pub run_level: String,
    /// Component in the file name. The whole name if it has another form.
    pub component: String,
    /// The object.
    pub object: Arc<Value>,
}

impl Payload {
    /// Parses the files of a folder. `release_image` replaces its placeholder in the operator's own
    /// templates.
    ///
    /// # Errors
    /// All errors, each as `<path>:<line>:<column>: <what>`.
    pub fn parse(mut files: Vec<File>, release_image: &str) -> Result<Self, Vec<String>> {
        files.sort_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
        let mut problems = Vec::new();
        let metadata = metadata::parse_metadata(&files, &mut problems);
        let skips_unknown_fields =
            metadata.as_ref().is_some_and(|metadata| metadata.version() >= &SKIPS_UNKNOWN_FIELDS);
        let mut manifests = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| is_manifest(path)) {
            let expanded = if is_template(path) { template::expand(text, release_image) } else { Ok(None) };
            let expanded = match expanded {
                Ok(expanded) => expanded,
                Err(ExpandError::UnknownField(_)) if skips_unknown_fields => continue,
                Err(ExpandError::UnknownField(error) | ExpandError::Broken(error)) => {
                    problems.push(format!("{path}:{error}"));
                    continue;
                }
            };
            match documents::parse_objects(path, expanded.as_deref().unwrap_or(text)) {
                Ok(objects) => {
                    let found = objects.into_iter().map(|object| Manifest::new(path, object));
                    let found: Vec<Manifest> = found.collect();
                    let faults = found.iter().filter_map(verification::problem);
                    problems.extend(faults.map(|problem| format!("{path}: {problem}")));
                    manifests.extend(found);
                }
                Err(error) => problems.push(format!("{path}:{error}")),
            }
        }
        if manifests.is_empty() && problems.is_empty() {
            problems.push("expected manifests (*.yaml, *.yml or *.json), found none".to_owned());
        }
        match metadata {
            Some(metadata) if problems.is_empty() => Ok(metadata.with(manifests)),
            _ => Err(problems),
        }
    }

    /// `status.versionHash`: the FNV-1 hash of the manifests that this selection includes, in Go's JSON
    /// encoding, as base64.
    pub fn version_hash(&self, selection: &Selection) -> String {
        use base64::Engine as _;
        let included = self.manifests.iter().filter(|manifest| selection.includes(&manifest.object));
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for manifest in included {
            for byte in go_json(&manifest.object).bytes() {
                hash = hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte);
            }
        }
        base64::engine::general_purpose::URL_SAFE.encode(hash.to_be_bytes())
    }
}

impl Manifest {
    fn new(path: &str, object: Value) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        let (run_level, component) = match NAME.captures(file) {
            Some(found) => (found[1].to_owned(), found[2].to_owned()),
            None => (String::new(), file.to_owned()),
        };
        Self { file: file.to_owned(), run_level, component, object: Arc::new(object) }
    }

    /// Capabilities that must all be enabled to apply it.
    pub fn capabilities(&self) -> Vec<String> {
        let names = self.object["metadata"]["annotations"][CAPABILITY].as_str().unwrap_or_default();
        names.split('+').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// Returns whether a path belongs to a payload: to a flat folder, or to the two folders of a release image.
pub fn is_payload_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    matches!(folder, "" | OWN | RELEASE) && (is_manifest(name) || name == METADATA || name == IMAGES)
}

/// JSON in Go's encoding, which escapes characters with a meaning in HTML.
fn go_json(value: &Value) -> String {
    let mut text = value.to_string();
    for (letter, escaped) in [
        ("&", "\\u0026"),
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        if text.contains(letter) {
            text = text.replace(letter, escaped);
        }
    }
    text
}

/// The sort key of paths. The operator's own manifests come first.
fn place(path: &str) -> u8 {
    u8::from(!path.starts_with("manifests/"))
}

fn is_manifest(path: &str) -> bool {
    matches!(extension(path), Some("yaml" | "yml" | "json"))
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, extension)| extension)
}

/// Returns whether a file is a template. The operator's own manifests are, which in a flat folder have its
/// component in their names.
fn is_template(path: &str) -> bool {
    path.starts_with("manifests/") || path.starts_with("0000_") && path.contains("_cluster-version-operator_")
}
