//! Kinds that CustomResourceDefinitions define: their versions, columns and conversions.

pub(crate) mod column;
pub(crate) mod conversion;
pub(crate) mod scale;
pub(crate) mod version;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use column::PrinterColumn;
use conversion::Conversion;
pub(crate) use scale::ScalePaths;
pub(crate) use version::Version;

/// The definition of a custom resource in one version.
#[derive(Debug, Clone)]
pub(crate) struct Custom {
    /// Shared by all versions.
    pub(crate) family: Arc<Family>,
    pub(crate) version: Arc<Version>,
}

impl Custom {
    /// Converts an object of any version to `version`.
    pub(crate) fn convert(&self, object: &Value, version: &Version, group: &str) -> Value {
        match &self.family.conversion {
            Some(_) if has_api_version(object, group, &version.name) => object.clone(),
            Some(conversion) => conversion.convert(object, version),
            None => version.convert(object, group),
        }
    }
}

/// Whether an object has that group and version.
fn has_api_version(object: &Value, group: &str, version: &str) -> bool {
    let given = object["apiVersion"].as_str().and_then(|text| text.split_once('/'));
    given == Some((group, version))
}

/// The properties that all versions of a definition share.
#[derive(Debug)]
pub(crate) struct Family {
    /// Counts the replacements of all definitions. Objects read in an older epoch are read again.
    pub(crate) epoch: u64,
    /// The storage version.
    pub(crate) storage: Arc<Version>,
    /// Whether it is the only version.
    pub(crate) has_one_version: bool,
    /// Whether the definition is being deleted.
    pub(crate) terminating: bool,
    /// The webhook that converts between versions, if there is one.
    pub(crate) conversion: Option<Arc<Conversion>>,
}
