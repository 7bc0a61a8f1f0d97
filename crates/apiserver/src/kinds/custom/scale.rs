//! The paths of the fields that the subresource `scale` reads and writes.

use serde_json::Value;

/// The JSON paths of the fields that a Scale shows (`.spec.replicas`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    /// The path of a label selector in text form.
    pub(crate) selector: Option<String>,
    /// Whether the selector is the `spec.selector` of a workload.
    pub(crate) own_selector: bool,
}

impl ScalePaths {
    /// Reads `subresources.scale` of a version of a CustomResourceDefinition.
    pub(crate) fn read(scale: &Value) -> Option<Self> {
        let text = |field: &str| scale[field].as_str().map(str::to_owned);
        Some(Self {
            spec: text("specReplicasPath")?,
            status: text("statusReplicasPath").unwrap_or_default(),
            selector: text("labelSelectorPath").filter(|path| !path.is_empty()),
            own_selector: false,
        })
    }

    /// The paths of built-in workloads.
    pub(crate) fn of_workloads() -> Self {
        Self {
            spec: ".spec.replicas".to_owned(),
            status: ".status.replicas".to_owned(),
            selector: None,
            own_selector: true,
        }
    }
}
