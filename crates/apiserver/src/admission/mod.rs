//! Admission: built-in plug-ins, policies and webhooks that change or reject a write before it is stored.
//!
//! A create, update or patch passes [`Admitter::mutate`] after its object is decoded and before the defaults and the
//! validation of its kind. It passes [`Admitter::validate`] as the last step before it is stored. A deletion passes
//! both, with the object to delete. Admission that is not configured costs nothing.

pub(crate) mod builtin;
mod matching;
mod plugin;
pub(crate) mod policy;
mod review;
pub(crate) mod webhook;

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::requests::admission::AdmissionPlugin;

use self::policy::{Binding, Policies, Policy};
use self::webhook::{Webhook, configuration};
use super::access::Access;
use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::kinds::objects::Objects;
use super::profile::{Profile, since};
use super::status::Outcome;
use super::store::{Store, Stored, TableId, joined};
use crate::call::Call;

pub(crate) use plugin::PluginCluster;

/// The operation of a write (`admission.Operation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// The name in rules and reviews.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a write beside its object (`admission.Attributes`); the other ones are in the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    /// Empty if the server has not generated it yet.
    pub(crate) name: &'a str,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    /// The object before the write.
    pub(crate) old: Option<&'a Value>,
}

impl<'a> Attributes<'a> {
    /// The name in rejections (`extractResourceName`).
    pub(crate) fn shown_name(&self) -> &'a str {
        if self.name.is_empty() { "Unknown" } else { self.name }
    }
}

/// The admission configuration, parsed once per change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    mutating: Vec<Webhook>,
    validating: Vec<Webhook>,
    policies: Policies,
    /// The table of LimitRanges, if there are any.
    limit_ranges: Option<TableId>,
    /// The table of ResourceQuotas, if there are any.
    quotas: Option<TableId>,
    /// Whether pods need an existing ServiceAccount.
    service_accounts: bool,
    /// Whether a controller sets the limits in the status of quotas.
    has_quota_controller: bool,
    /// Plug-ins from [`Builder::admission_plugin`](crate::Builder::admission_plugin).
    plugins: Vec<Box<dyn AdmissionPlugin>>,
}

impl Admission {
    pub(crate) fn new(service_accounts: bool, plugins: Vec<Box<dyn AdmissionPlugin>>) -> Self {
        Self { service_accounts, plugins, ..Self::default() }
    }

    /// Whether a controller sets the limits in the status of quotas, instead of the server.
    pub(crate) fn with_quota_controller(self, has_quota_controller: bool) -> Self {
        Self { has_quota_controller, ..self }
    }

    /// Whether any configured webhook or policy may change updated objects.
    pub(crate) fn may_mutate(&self) -> bool {
        !self.mutating.is_empty() || !self.policies.mutating_bindings.is_empty()
    }

    /// Whether there are policies or webhooks. They see objects with their managed fields.
    fn has_policies_or_webhooks(&self) -> bool {
        let policies = &self.policies;
        self.may_mutate() || !self.validating.is_empty() || !policies.validating_bindings.is_empty()
    }

    /// The stored object in the form that admission needs: with managed fields if there are policies or webhooks.
    pub(crate) fn stored_form<'a>(&self, old: &'a Stored) -> Cow<'a, Value> {
        if self.has_policies_or_webhooks() { Cow::Owned(old.to_value()) } else { Cow::Borrowed(&**old) }
    }

    /// Whether there are CEL expressions, which may check permissions of users.
    pub(crate) fn needs_authorizer(&self) -> bool {
        let conditional = |webhooks: &[Webhook]| webhooks.iter().any(Webhook::is_conditional);
        let bound =
            !self.policies.validating_bindings.is_empty() || !self.policies.mutating_bindings.is_empty();
        bound || conditional(&self.mutating) || conditional(&self.validating)
    }

    /// Updates the configuration after a write of this kind.
    pub(crate) fn refresh(&mut self, kind: &Kind, store: &Store) {
        let any = (store.count(kind.table) > 0).then_some(kind.table);
        if kind.is_resource("", "limitranges") {
            self.limit_ranges = any;
        } else if kind.is_resource("", "resourcequotas") {
            self.quotas = any;
        }
        self.plugins.iter_mut().for_each(|plugin| plugin.note_change(&kind.resource));
        let is_policy = policy::is_policy(kind);
        if !is_policy && !configuration::is_configuration(kind) {
            return;
        }
        // Webhooks run in the order of the names of their configurations, then in the order within each.
        let stored = store.list(kind.table, "").map(|(_, _, entry)| entry.served());
        if is_policy {
            let (policies, mutating) = (&mut self.policies, kind.resource.plural.starts_with("mutating"));
            if kind.resource.plural.ends_with("bindings") {
                let place = if mutating {
                    &mut policies.mutating_bindings
                } else {
                    &mut policies.validating_bindings
                };
                *place = stored.map(|object| Binding::read(&object)).collect();
            } else {
                let place = if mutating { &mut policies.mutating } else { &mut policies.validating };
                *place = stored.map(|object| Policy::read(&object)).collect();
            }
            return;
        }
        let webhooks = stored.flat_map(|object| Webhook::read_all(&object)).collect();
        if kind.resource.plural.starts_with("mutating") {
            self.mutating = webhooks;
        } else {
            self.validating = webhooks;
        }
    }
}

/// The admission configuration, with the parts of the server that it reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitter<'a> {
    pub(crate) admission: &'a Admission,
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: &'a Store,
    pub(crate) access: &'a Access,
    pub(crate) profile: &'a Profile,
    /// The table of namespaces.
    pub(crate) namespaces: TableId,
}

impl<'a> Admitter<'a> {
    fn objects(&self) -> Objects<'a> {
        Objects { catalog: self.catalog, store: self.store }
    }

    /// Runs mutating admission on the object of a write. A deletion has no object.
    ///
    /// # Errors
    /// A policy or a webhook rejects the write.
    pub(crate) fn mutate(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        mut object: Option<&mut Value>,
    ) -> Outcome<()> {
        if let Some(object) = object.as_deref_mut().filter(|_| self.admission.limit_ranges.is_some())
            && call.kind.is_resource("", "pods")
            && attributes.operation == Operation::Create
        {
            self.fill_in_limits(call, object);
        }
        if is_exempt(&call.kind) {
            return Ok(());
        }
        // Minors that do not serve mutating policies ignore stored ones.
        let policies = !self.admission.policies.mutating_bindings.is_empty()
            && self.profile.minor >= since::MUTATING_POLICIES;
        if let Some(object) = object.as_deref_mut().filter(|_| policies) {
            self.run_mutating_policies(call, attributes, object, false)?;
        }
        if self.admission.mutating.is_empty() {
            return Ok(());
        }
        let before = object.as_deref().filter(|_| policies).cloned();
        self.call_mutating(call, attributes, object.as_deref_mut())?;
        match (before, object) {
            (Some(before), Some(object)) if before != *object => {
                self.run_mutating_policies(call, attributes, object, true).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Runs validating admission on the object to store and its managed fields.
    ///
    /// # Errors
    /// A LimitRange, a quota, a policy, a webhook or a plug-in rejects the write.
    pub(crate) fn validate(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        written: Option<(&Value, Option<&Value>)>,
    ) -> Outcome<()> {
        let object = written.map(|(object, _)| object);
        if let Some(object) = object.filter(|_| self.admission.limit_ranges.is_some()) {
            self.check_limits(call, attributes, object)?;
        }
        if self.admission.has_policies_or_webhooks() && !is_exempt(&call.kind) {
            let whole = written.map(|(object, owners)| joined(object, owners));
            self.run_policies_and_webhooks(call, attributes, whole.as_ref())?;
        }
        if !self.admission.plugins.is_empty() {
            self.check_by_plugins(call, attributes, object)?;
        }
        // Quotas come last, so that a write that other checks reject uses none of a quota.
        match object.filter(|_| self.admission.quotas.is_some()) {
            Some(object) => self.check_quotas(call, attributes, object),
            None => Ok(()),
        }
    }

    /// Runs validating policies and webhooks.
    fn run_policies_and_webhooks(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<()> {
        if !self.admission.policies.validating_bindings.is_empty() {
            self.run_policies(call, attributes, object)?;
        }
        if self.admission.validating.is_empty() {
            return Ok(());
        }
        self.call_validating(call, attributes, object)
    }
}

/// Whether a kind configures admission. Such kinds are exempt, because a policy or webhook that rejects its own removal
/// would lock out every user.
fn is_exempt(kind: &Kind) -> bool {
    kind.resource.group == "admissionregistration.k8s.io"
}
