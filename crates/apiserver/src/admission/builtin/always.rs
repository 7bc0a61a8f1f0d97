//! Two plug-ins for tests of clients: `AlwaysAdmit` has no effect, and `AlwaysDeny` rejects all writes.

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};

/// Has no effect.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AlwaysAdmit;

/// Rejects all writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AlwaysDeny;

impl AdmissionPlugin for AlwaysAdmit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }
}

impl AdmissionPlugin for AlwaysDeny {
    fn name(&self) -> &'static str {
        "AlwaysDeny"
    }

    fn mutate(
        &mut self,
        _request: &AdmissionRequest<'_>,
        _object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        Err(denied())
    }

    fn validate(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        Err(denied())
    }
}

fn denied() -> AdmissionRejection {
    AdmissionRejection::Forbidden("admission control is denying all modifications".to_owned())
}
