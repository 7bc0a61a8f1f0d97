//! Admission: who may object to a write, or change it, between its being understood and its being stored.
//!
//! A create, update or patch passes [`ApiServer::mutate`] once its object is decoded and before defaults and the rules of
//! its kind, and [`ApiServer::validate`] last before it is stored. A deletion passes both with the object that is to go.
//! Nothing here costs anything while nothing is configured.

pub(crate) mod builtin;
mod plugin;
pub(crate) mod policy;
pub(crate) mod webhook;

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::requests::admission::AdmissionPlugin;

use self::policy::{Binding, Policies, Policy};
use self::webhook::{Webhook, configuration};
use super::call::Call;
use super::kinds::Kind;
use super::profile::since;
use super::server::ApiServer;
use super::status::Outcome;
use super::store::{Stored, TableId, joined};

/// What a write does to its object (`admission.Operation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// As rules and reviews name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What admission is told of a write beside its object (`admission.Attributes`); the rest stands in the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    /// Empty where the server has not made it yet.
    pub(crate) name: &'a str,
    /// Empty for objects of the cluster.
    pub(crate) namespace: &'a str,
    /// The object before the write.
    pub(crate) old: Option<&'a Value>,
}

/// What is configured, read once per change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    mutating: Vec<Webhook>,
    validating: Vec<Webhook>,
    policies: Policies,
    /// Where LimitRanges are, if there are any.
    limit_ranges: Option<TableId>,
    /// Where ResourceQuotas are, if there are any.
    quotas: Option<TableId>,
    /// Whether pods run as ServiceAccounts that must be there.
    service_accounts: bool,
    /// Plug-ins that the server was built with.
    plugins: Vec<Box<dyn AdmissionPlugin>>,
}

impl Admission {
    pub(crate) fn new(service_accounts: bool, plugins: Vec<Box<dyn AdmissionPlugin>>) -> Self {
        Self { service_accounts, plugins, ..Self::default() }
    }

    /// Whether objects that are there already may be changed.
    pub(crate) fn may_mutate(&self) -> bool {
        !self.mutating.is_empty() || !self.policies.mutating_bindings.is_empty()
    }

    /// Whether there are policies or webhooks: they see objects with the owners of their fields.
    fn asks_others(&self) -> bool {
        let policies = &self.policies;
        self.may_mutate() || !self.validating.is_empty() || !policies.validating_bindings.is_empty()
    }

    /// What is there before a write, as those see it who are asked about the write.
    pub(crate) fn shown<'a>(&self, old: &'a Stored) -> Cow<'a, Value> {
        if self.asks_others() { Cow::Owned(old.to_value()) } else { Cow::Borrowed(&**old) }
    }

    /// Whether there are expressions, which may ask what users may do.
    pub(crate) fn asks_authorizer(&self) -> bool {
        let conditional = |webhooks: &[Webhook]| webhooks.iter().any(Webhook::is_conditional);
        let bound =
            !self.policies.validating_bindings.is_empty() || !self.policies.mutating_bindings.is_empty();
        bound || conditional(&self.mutating) || conditional(&self.validating)
    }
}

impl ApiServer {
    /// Lets admission change the object of a write. Of a deletion there is none.
    ///
    /// # Errors
    /// Somebody objects.
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
        // Policies that an older minor does not serve do nothing there.
        let policies = !self.admission.policies.mutating_bindings.is_empty()
            && self.profile.minor >= since::MUTATING_POLICIES;
        if let Some(object) = object.as_deref_mut().filter(|_| policies) {
            self.change_by_policies(call, attributes, object, false)?;
        }
        if self.admission.mutating.is_empty() {
            return Ok(());
        }
        let before = object.as_deref().filter(|_| policies).cloned();
        self.ask_mutating(call, attributes, object.as_deref_mut())?;
        match (before, object) {
            (Some(before), Some(object)) if before != *object => {
                self.change_by_policies(call, attributes, object, true).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Asks admission about the object as it would be stored, and the owners of its fields beside it.
    ///
    /// # Errors
    /// Somebody objects.
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
        if self.admission.asks_others() && !is_exempt(&call.kind) {
            let whole = written.map(|(object, owners)| joined(object, owners));
            self.ask_others(call, attributes, whole.as_ref())?;
        }
        // Last: what is refused for something else takes nothing from a quota.
        match object.filter(|_| self.admission.quotas.is_some()) {
            Some(object) => self.check_quotas(call, attributes, object),
            None => Ok(()),
        }
    }

    /// Asks policies and webhooks.
    fn ask_others(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<()> {
        if !self.admission.policies.validating_bindings.is_empty() {
            self.ask_policies(call, attributes, object)?;
        }
        if self.admission.validating.is_empty() {
            return Ok(());
        }
        self.ask_validating(call, attributes, object)
    }

    /// Reads what is configured anew if an object of this kind has a say in it.
    pub(crate) fn admission_written(&mut self, kind: &Kind) {
        let any = (self.store.count(kind.table) > 0).then_some(kind.table);
        if kind.is_resource("", "limitranges") {
            self.admission.limit_ranges = any;
        } else if kind.is_resource("", "resourcequotas") {
            self.admission.quotas = any;
        }
        self.admission.plugins.iter_mut().for_each(|plugin| plugin.note_change(&kind.resource));
        let is_policy = policy::is_policy(kind);
        if !is_policy && !configuration::is_configuration(kind) {
            return;
        }
        // In the order of their names, and each in its own order.
        let stored = self.store.list(kind.table, "").map(|(_, _, entry)| entry.served());
        if is_policy {
            let (policies, mutating) =
                (&mut self.admission.policies, kind.resource.plural.starts_with("mutating"));
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
            self.admission.mutating = webhooks;
        } else {
            self.admission.validating = webhooks;
        }
    }
}

/// Whether a kind configures admission itself: a policy or a webhook that could not be removed would lock everybody out.
fn is_exempt(kind: &Kind) -> bool {
    kind.resource.group == "admissionregistration.k8s.io"
}
