//! What admission plug-ins see of the server, and the errors of their rejections.

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::admission::{AdmissionRejection, AdmittingCluster, InvalidField, Permission};
use windtunnel_core::{Identity, Object, Resource};

use crate::access::{Access, Attributes as AccessAttributes};
use crate::call::attempt::Attempt;
use crate::field::FieldError;
use crate::kinds::objects::Objects;
use crate::profile::Profile;
use crate::rejection::BoxedRejection;
use crate::server::draws::Draws;

/// The cluster of a plug-in.
#[derive(Debug)]
pub(super) struct PluginCluster<'a> {
    pub(super) objects: Objects<'a>,
    pub(super) access: &'a mut Access,
    pub(super) draws: &'a mut Draws,
    pub(super) attempt: &'a mut Attempt,
    pub(super) warnings: &'a mut Vec<String>,
    /// The namespace of the write.
    pub(super) namespace: &'a str,
    /// The minor of Kubernetes 1.x.
    pub(super) minor: u32,
    pub(super) now: Time,
}

impl AdmittingCluster for PluginCluster<'_> {
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.objects.get(resource, namespace, name)
    }

    fn objects(&self, resource: &Resource, namespace: &str) -> Vec<Object> {
        let kind = self.objects.catalog.find(&resource.group, &resource.version, &resource.plural);
        let stored = kind.into_iter().flat_map(|kind| self.objects.store.list(kind.table, namespace));
        stored.map(|(_, _, entry)| Object::from(entry.served().tree())).collect()
    }

    fn kinds(&self, api_version: &str, kind: &str) -> Vec<Resource> {
        let served = self.objects.catalog.served().map(|served| &served.resource);
        served.filter(|found| found.kind == kind && found.has_api_version(api_version)).cloned().collect()
    }

    fn kubernetes_minor(&self) -> u32 {
        self.minor
    }

    fn now(&self) -> Time {
        self.now
    }

    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool {
        let asked = AccessAttributes {
            verb: permission.verb.into(),
            group: (&*permission.resource.group).into(),
            resource: (&*permission.resource.plural).into(),
            subresource: permission.subresource.into(),
            namespace: permission.namespace.into(),
            name: permission.name.into(),
            ..AccessAttributes::default()
        };
        let allowed = self.access.may(self.objects, user, &asked);
        if !allowed {
            self.access.usage.note_lacked(user, &asked);
        }
        allowed
    }

    fn draw_name_suffix(&mut self, resource: &Resource, prefix: &str) -> String {
        let Self { draws, attempt, namespace, .. } = self;
        attempt.suffix(prefix, || draws.name_suffix(resource, namespace, prefix))
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }
}

/// The error of a rejected write of a kind; `name` is the name that the error shows.
pub(super) fn rejection(
    resource: &Resource,
    name: &str,
    rejection: AdmissionRejection,
    profile: &Profile,
) -> BoxedRejection {
    match rejection {
        AdmissionRejection::Forbidden(why) => BoxedRejection::forbidden(resource, name, &why),
        AdmissionRejection::ForbiddenBecause(why, cause) => {
            let mut rejection = BoxedRejection::forbidden(resource, name, &why);
            if let Some(details) = &mut rejection.details {
                details["causes"] = json!([cause]);
            }
            rejection
        }
        AdmissionRejection::Denied(message) => BoxedRejection::by_webhook(403, "Forbidden", message, None),
        AdmissionRejection::Invalid(fields) => {
            let errors: Vec<FieldError> = fields
                .into_iter()
                .map(|InvalidField { field, value, detail }| FieldError::invalid(field, value, detail))
                .collect();
            BoxedRejection::invalid(&resource.group, &resource.kind, name, &errors, profile)
        }
        AdmissionRejection::NotFound(resource, name) => BoxedRejection::not_found(&resource, &name),
        AdmissionRejection::Internal(why) => BoxedRejection::internal_error(&why),
        AdmissionRejection::Unclassified(message) => BoxedRejection::internal(message),
    }
}
