//! The two files of a payload that are not manifests: `release-metadata` and `image-references`.

use semver::Version;
use serde_json::Value;

use super::documents::json_error;
use super::{File, IMAGES, METADATA, Manifest, Payload};

/// The kind of `release-metadata` (`cincinnati-metadata-v0`).
const KIND: &str = "cincinnati-metadata-v0";
/// The metadata key of the channels.
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
/// The annotation of an image with component versions, such as `kubernetes=1.31.5`.
const COMPONENT_VERSIONS: &str = "io.openshift.build.versions";

/// The contents of both files.
pub(super) struct Metadata {
    version: Version,
    channels: Vec<String>,
    url: String,
    kubernetes_minor: Option<u32>,
}

impl Metadata {
    pub(super) fn version(&self) -> &Version {
        &self.version
    }

    pub(super) fn with(self, manifests: Vec<Manifest>) -> Payload {
        let Self { version, channels, url, kubernetes_minor } = self;
        Payload { version, channels, url, kubernetes_minor, manifests }
    }
}

/// Parses both files, and adds errors to `problems`.
pub(super) fn parse_metadata(files: &[File], problems: &mut Vec<String>) -> Option<Metadata> {
    let metadata = json(files, METADATA, problems);
    let images = json(files, IMAGES, problems);
    let ((path, text, metadata), (images_path, images_text, images)) = metadata.zip(images)?;
    let at = |text: &str, key: &str| place(text, key);
    let quoted = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    if metadata["kind"] != KIND {
        let found = quoted(&metadata["kind"]);
        problems.push(format!("{path}:{}: expected `{KIND}` as `kind`, found {found}", at(text, "kind")));
    }
    let version = metadata["version"].as_str().and_then(|text| Version::parse(text).ok());
    let Some(version) = version else {
        let found = quoted(&metadata["version"]);
        problems.push(format!(
            "{path}:{}: expected a version such as `4.14.8` as `version`, found {found}",
            at(text, "version")
        ));
        return None;
    };
    if (&images["kind"], &images["apiVersion"]) != (&"ImageStream".into(), &"image.openshift.io/v1".into()) {
        let place = at(images_text, "kind");
        problems.push(format!("{images_path}:{place}: expected an `ImageStream` of `image.openshift.io/v1`"));
    } else if images["metadata"]["name"] != version.to_string() {
        let (place, found) = (at(images_text, "name"), quoted(&images["metadata"]["name"]));
        problems.push(format!(
            "{images_path}:{place}: expected `{version}` as `metadata.name`, like the version in {METADATA}, found {found}"
        ));
    }
    let more = &metadata["metadata"];
    let text = |key: &str| more[key].as_str().unwrap_or_default();
    let mut channels: Vec<String> =
        text(CHANNELS).split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    channels.sort();
    Some(Metadata {
        channels,
        url: text("url").to_owned(),
        kubernetes_minor: kubernetes_minor(&images),
        version,
    })
}

/// Parses the file with this name. A missing file is a problem.
fn json<'f>(files: &'f [File], name: &str, problems: &mut Vec<String>) -> Option<(&'f str, &'f str, Value)> {
    let Some((path, text)) = files.iter().find(|(path, _)| path.rsplit('/').next() == Some(name)) else {
        problems.push(format!("{name}: expected this file, found none"));
        return None;
    };
    match serde_json::from_str(text) {
        Ok(value) => Some((path, text, value)),
        Err(error) => {
            problems.push(format!("{path}:{}", json_error(&error)));
            None
        }
    }
}

/// Line and column of the first key with this name, or of the start of the text.
fn place(text: &str, key: &str) -> String {
    let at = text.find(&format!("\"{key}\"")).unwrap_or(0);
    let before = &text[..at];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{}:{column}", before.matches('\n').count() + 1)
}

/// The newest Kubernetes minor in the annotations of images.
fn kubernetes_minor(images: &Value) -> Option<u32> {
    let tags = images["spec"]["tags"].as_array()?;
    let versions_of_images = tags.iter().filter_map(|tag| tag["annotations"][COMPONENT_VERSIONS].as_str());
    let versions = versions_of_images
        .flat_map(|text| text.split(','))
        .filter_map(|part| part.strip_prefix("kubernetes="));
    let minors = versions.filter_map(|version| Version::parse(version).ok());
    minors.filter(|version| version.major == 1).filter_map(|version| u32::try_from(version.minor).ok()).max()
}
