//! The ordered list of everything that admits a write, and the way of a write through it.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};

use super::plugin::{self, PluginCluster};
use super::reinvocation::Reinvocation;
use super::{Attributes, Operation, is_exempt};
use crate::apply::check_entries;
use crate::call::Call;
use crate::kinds::objects::Objects;
use crate::kinds::typed::with_empties;
use crate::metadata;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::options;
use crate::server::ApiServer;
use crate::store::{FieldOwners, Stored, joined};

/// One element of the list.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// A plug-in of Kubernetes, or of the distribution.
    Plugin(Box<dyn AdmissionPlugin>),
    /// `MutatingAdmissionPolicy`.
    MutatingPolicies,
    /// `MutatingAdmissionWebhook`.
    MutatingWebhooks,
    /// `ValidatingAdmissionPolicy`.
    ValidatingPolicies,
    /// `ValidatingAdmissionWebhook`.
    ValidatingWebhooks,
    /// `ResourceQuota`. It is last, so that a write that others reject uses none of a quota.
    Quotas,
}

impl Stage {
    /// The engines after the plug-ins, in Kubernetes' order.
    pub(crate) const ENGINES: [Self; 5] = [
        Self::MutatingPolicies,
        Self::MutatingWebhooks,
        Self::ValidatingPolicies,
        Self::ValidatingWebhooks,
        Self::Quotas,
    ];

    /// The name by which it is turned on and off.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Plugin(plugin) => plugin.name(),
            Self::MutatingPolicies => "MutatingAdmissionPolicy",
            Self::MutatingWebhooks => "MutatingAdmissionWebhook",
            Self::ValidatingPolicies => "ValidatingAdmissionPolicy",
            Self::ValidatingWebhooks => "ValidatingAdmissionWebhook",
            Self::Quotas => "ResourceQuota",
        }
    }
}

impl ApiServer {
    /// Runs mutating admission on an object and the owners of its fields, which policies and webhooks see and may change.
    ///
    /// # Errors
    /// As [`ApiServer::admit`].
    pub(crate) fn admit_owned(
        &mut self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: &mut Value,
        owners: &mut FieldOwners,
    ) -> Outcome<()> {
        if !self.admission.may_mutate() || is_exempt(&call.kind) {
            return self.admit(call, attributes, Some(object));
        }
        *object = joined(object, owners.entries.as_deref());
        self.admit(call, attributes, Some(object))?;
        let entries = Stored::take_owners(object);
        if entries.as_ref() == owners.entries.as_deref() {
            return Ok(());
        }
        match check_entries(entries.as_ref()) {
            Ok(()) => *owners = FieldOwners { entries: entries.map(Arc::new), known: None },
            Err(why) => call.warnings.push(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
                 mutating admission controller; please fix your requests: {why}"
            )),
        }
        Ok(())
    }

    /// Runs all of admission on an object that a request posts and that is not stored: a review, a Binding, an Eviction, a token
    /// request. `object_type` is its type if the path names another one; `complete` sets and checks its fields before validating
    /// admission, and its result is returned.
    ///
    /// # Errors
    /// As [`ApiServer::admit`].
    pub(crate) fn admit_posted<T>(
        &mut self,
        call: &mut Call<'_>,
        object_type: Option<&Resource>,
        object: &mut Value,
        complete: impl FnOnce(&Self, &Call<'_>, &mut Value) -> Outcome<T>,
    ) -> Outcome<T> {
        let options = options::for_admission(call.request, "CreateOptions");
        let (path, given) = (call.path, metadata::text(object, "name").to_owned());
        let name = if path.name.is_empty() { &given } else { &*path.name };
        let attributes = Attributes { object_type, ..Attributes::create(name, &path.namespace, &options) };
        if self.admission.has_policies_or_webhooks() {
            let resource = object_type.unwrap_or(&call.kind.resource).clone();
            *object = self.with_owners_of(call, resource, object, object.clone()).to_value();
        }
        self.admit(call, attributes, Some(object))?;
        let completed = complete(self, call, object)?;
        self.check_admission(call, attributes, Some((object, None)))?;
        Stored::take_owners(object);
        Ok(completed)
    }

    /// Runs all of admission on the Scale that an update writes; `old` is the Scale before. Validating admission does not see
    /// the owners of their fields.
    ///
    /// # Errors
    /// As [`ApiServer::admit`].
    pub(crate) fn admit_scale(
        &mut self,
        call: &mut Call<'_>,
        scale_type: &Resource,
        old: &mut Value,
        scale: &mut Value,
    ) -> Outcome<()> {
        let options = options::for_admission(call.request, "UpdateOptions");
        let path = call.path;
        let attributes = Attributes {
            operation: Operation::Update,
            object_type: Some(scale_type),
            options: &options,
            name: &path.name,
            namespace: &path.namespace,
            old: None,
        };
        self.admit(call, Attributes { old: Some(old), ..attributes }, Some(scale))?;
        Stored::take_owners(old);
        Stored::take_owners(scale);
        self.check_admission(call, Attributes { old: Some(old), ..attributes }, Some((scale, None)))
    }

    /// Runs all of admission on a connection to a pod, a node or a Service. Its object are the options of the connection.
    ///
    /// # Errors
    /// As [`ApiServer::admit`].
    pub(crate) fn admit_connection(
        &mut self,
        call: &mut Call<'_>,
        options_type: &Resource,
        options: &mut Value,
    ) -> Outcome<()> {
        let path = call.path;
        let attributes = Attributes {
            operation: Operation::Connect,
            object_type: Some(options_type),
            options: &Value::Null,
            name: &path.name,
            namespace: &path.namespace,
            old: None,
        };
        self.admit(call, attributes, Some(options))?;
        self.check_admission(call, attributes, Some((options, None)))
    }

    /// Runs mutating admission on the object of a write. A deletion has no object.
    ///
    /// # Errors
    /// A plug-in, a policy or a webhook rejects the write.
    pub(crate) fn admit(
        &mut self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        mut object: Option<&mut Value>,
    ) -> Outcome<()> {
        let mut reinvocation = Reinvocation::default();
        self.run_mutating_stages(call, attributes, object.as_deref_mut(), &mut reinvocation)?;
        if reinvocation.begin() {
            self.run_mutating_stages(call, attributes, object, &mut reinvocation)?;
        }
        Ok(())
    }

    fn run_mutating_stages(
        &mut self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        mut object: Option<&mut Value>,
        reinvocation: &mut Reinvocation,
    ) -> Outcome<()> {
        // Minors that do not serve mutating policies ignore stored ones.
        let serves_policies = self.profile.minor >= since::MUTATING_POLICIES;
        for index in 0..self.admission.stages.len() {
            match &self.admission.stages[index] {
                Stage::Plugin(_) => {
                    let mut none = Value::Null;
                    let object = object.as_deref_mut().unwrap_or(&mut none);
                    self.mutate_by_plugin(index, call, attributes, object)?;
                }
                Stage::MutatingPolicies if serves_policies && !is_exempt(&call.kind) => {
                    if let Some(object) = object.as_deref_mut() {
                        self.admitter().run_mutating_policies(call, attributes, object, reinvocation)?;
                    }
                }
                Stage::MutatingWebhooks if !is_exempt(&call.kind) => {
                    self.admitter().call_mutating(call, attributes, object.as_deref_mut(), reinvocation)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs validating admission on the object to store and its managed fields.
    ///
    /// # Errors
    /// A plug-in, a policy, a webhook or a quota rejects the write.
    pub(crate) fn check_admission(
        &mut self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        written: Option<(&Value, Option<&Value>)>,
    ) -> Outcome<()> {
        // Plug-ins see the lists and maps that the client gave without elements.
        let given = written.filter(|_| !call.empties.is_empty());
        let given = given.map(|(object, _)| with_empties(object, &call.empties, |_| true).into_owned());
        let object = given.as_ref().or(written.map(|(object, _)| object));
        let sees_owners = self.admission.has_policies_or_webhooks() && !is_exempt(&call.kind);
        let whole = written.filter(|_| sees_owners).map(|(object, owners)| joined(object, owners));
        for index in 0..self.admission.stages.len() {
            match &self.admission.stages[index] {
                Stage::Plugin(_) => self.validate_by_plugin(index, call, attributes, object)?,
                Stage::ValidatingPolicies if sees_owners => {
                    self.admitter().run_policies(call, attributes, whole.as_ref())?;
                }
                Stage::ValidatingWebhooks if sees_owners => {
                    self.admitter().call_validating(call, attributes, whole.as_ref())?;
                }
                Stage::Quotas => {
                    if let Some(object) = object {
                        self.admitter().check_quotas(call, attributes, object)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn mutate_by_plugin(
        &mut self,
        index: usize,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: &mut Value,
    ) -> Outcome<()> {
        let mutated = self.with_plugin(index, call, attributes, |plugin, request, cluster| {
            plugin.mutate(request, object, cluster)
        });
        mutated.map_err(|why| self.plugin_rejection(call, attributes, Some(object), why))
    }

    fn validate_by_plugin(
        &mut self,
        index: usize,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<()> {
        let checked = self.with_plugin(index, call, attributes, |plugin, request, cluster| {
            plugin.validate(request, object, cluster)
        });
        checked.map_err(|why| self.plugin_rejection(call, attributes, object, why))
    }

    fn plugin_rejection(
        &self,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
        why: AdmissionRejection,
    ) -> BoxedRejection {
        plugin::rejection(&call.kind.resource, attributes.shown_name(object), why, &self.profile)
    }

    /// Calls a plug-in of the list with the request and the cluster that it sees.
    fn with_plugin(
        &mut self,
        index: usize,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        act: impl FnOnce(
            &mut dyn AdmissionPlugin,
            &AdmissionRequest<'_>,
            &mut dyn AdmittingCluster,
        ) -> Result<(), AdmissionRejection>,
    ) -> Result<(), AdmissionRejection> {
        let Self { admission, access, catalog, store, profile, draws, .. } = self;
        let Some(Stage::Plugin(plugin)) = admission.stages.get_mut(index) else { return Ok(()) };
        let Call { kind, path, request, now, attempt, warnings, .. } = call;
        let request = AdmissionRequest {
            operation: attributes.operation,
            resource: &kind.resource,
            subresource: &path.subresource,
            namespace: attributes.namespace,
            name: attributes.name,
            user: request.user,
            old: attributes.old,
        };
        access.usage.begin_plugin();
        let mut cluster = PluginCluster {
            objects: Objects { catalog, store },
            access,
            draws,
            attempt,
            warnings,
            namespace: attributes.namespace,
            minor: profile.minor,
            now: *now,
        };
        let admitted = act(&mut **plugin, &request, &mut cluster);
        if let Err(AdmissionRejection::Forbidden(_) | AdmissionRejection::ForbiddenBecause(..)) = &admitted {
            cluster.access.usage.count_lacked();
        }
        admitted
    }
}
