//! The functions that Kubernetes adds to CEL (`k8s.io/apiserver/pkg/cel/library`).

mod address;
pub(crate) mod authorizer;
pub(super) mod format;
pub(super) mod json_patch;
pub(super) mod net;
pub(super) mod quantity;
pub(super) mod semver;
pub(super) mod url;
