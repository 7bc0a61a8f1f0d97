//! Admission: plug-ins, policies and webhooks that change or reject a write before it is stored.
//!
//! They are one ordered list ([`chain`]). A create or an update passes all of it twice: [`ApiServer::admit`] after its object is
//! decoded and before the defaults and the validation of its kind, and [`ApiServer::check_admission`] as the last step before it
//! is stored. A deletion passes both with the object to delete, a connection with its options.

pub(crate) mod builtin;
pub(crate) mod chain;
mod converted;
pub(crate) mod known;
mod matching;
mod plugin;
pub(crate) mod policy;
mod reinvocation;
mod review;
pub(crate) mod webhook;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
pub(crate) use windtunnel_core::requests::admission::AdmissionOperation as Operation;
use windtunnel_core::{Key, Resource};

use self::chain::Stage;
use self::policy::Policies;
use self::webhook::{Webhook, configuration};
use super::access::Access;
use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::kinds::objects::Objects;
use super::metadata;
use super::profile::Profile;
use super::store::{Entry, Store, Stored, TableId};

/// The attributes of a write beside its object (`admission.Attributes`); the other ones are in the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    /// The type of the object if it is not the kind of the path: a Scale, a Binding, the options of a connection.
    pub(crate) object_type: Option<&'a Resource>,
    /// The options of the request, such as `CreateOptions`; null for a connection.
    pub(crate) options: &'a Value,
    /// Empty if the server has not generated it yet.
    pub(crate) name: &'a str,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    /// The object before the write.
    pub(crate) old: Option<&'a Value>,
}

impl<'a> Attributes<'a> {
    /// Those of a new object.
    pub(crate) fn create(name: &'a str, namespace: &'a str, options: &'a Value) -> Self {
        Self { operation: Operation::Create, object_type: None, options, name, namespace, old: None }
    }

    /// The name in rejections (`extractResourceName`).
    pub(crate) fn shown_name(&self, object: Option<&'a Value>) -> &'a str {
        let named =
            |field| object.map(|object| metadata::text(object, field)).filter(|text| !text.is_empty());
        match self.name {
            "" => named("name").or_else(|| named("generateName")).unwrap_or("Unknown"),
            name => name,
        }
    }
}

/// The admission configuration, parsed once per change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    /// In the order in which a write passes them.
    stages: Vec<Stage>,
    /// Webhooks by the name of their configuration.
    mutating: BTreeMap<String, Vec<Webhook>>,
    validating: BTreeMap<String, Vec<Webhook>>,
    policies: Policies,
    /// The table of ResourceQuotas, if there are any.
    quotas: Option<TableId>,
    /// Whether a controller sets the limits in the status of quotas.
    has_quota_controller: bool,
}

impl Admission {
    pub(crate) fn new(stages: Vec<Stage>) -> Self {
        Self { stages, ..Self::default() }
    }

    /// Whether a controller sets the limits in the status of quotas, instead of the server.
    pub(crate) fn with_quota_controller(self, has_quota_controller: bool) -> Self {
        Self { has_quota_controller, ..self }
    }

    /// Whether any configured webhook or policy may change objects.
    pub(crate) fn may_mutate(&self) -> bool {
        !self.mutating.is_empty() || self.policies.mutating.is_bound()
    }

    /// Whether there are policies or webhooks. They see objects with their managed fields.
    fn has_policies_or_webhooks(&self) -> bool {
        self.may_mutate() || !self.validating.is_empty() || self.policies.validating.is_bound()
    }

    /// The stored object in the form that admission needs: with managed fields if there are policies or webhooks.
    pub(crate) fn stored_form<'a>(&self, old: &'a Stored) -> Cow<'a, Value> {
        if self.has_policies_or_webhooks() { Cow::Owned(old.to_value()) } else { Cow::Borrowed(&**old) }
    }

    /// Whether there are CEL expressions, which may check permissions of users.
    pub(crate) fn needs_authorizer(&self) -> bool {
        let is_bound = self.policies.validating.is_bound() || self.policies.mutating.is_bound();
        is_bound || self.mutating_webhooks().chain(self.validating_webhooks()).any(Webhook::is_conditional)
    }

    /// Follows changes of the objects of a kind.
    pub(crate) fn follow(&mut self, kind: &Kind, keys: &[Key], store: &Store) {
        if kind.is_resource("", "resourcequotas") {
            self.quotas = (store.count(kind.table) > 0).then_some(kind.table);
        }
        for stage in &mut self.stages {
            if let Stage::Plugin(plugin) = stage {
                plugin.on_event(&kind.resource);
            }
        }
        let is_policy = policy::is_policy(kind);
        if !is_policy && !configuration::is_configuration(kind) {
            return;
        }
        for key in keys {
            let stored = store.get(kind.table, &key.namespace, &key.name).map(Entry::served);
            if is_policy {
                self.policies.follow(kind, &key.name, stored.as_deref());
                continue;
            }
            let is_mutating = kind.resource.plural.starts_with("mutating");
            let webhooks = if is_mutating { &mut self.mutating } else { &mut self.validating };
            webhooks.remove(&key.name);
            webhooks.extend(stored.map(|object| (key.name.clone(), Webhook::read_all(&object))));
        }
    }

    /// The mutating webhooks in the order in which they are called.
    fn mutating_webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.mutating.values().flatten()
    }

    /// The validating webhooks in the order in which their answers count.
    fn validating_webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.validating.values().flatten()
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
}

/// Whether a kind configures admission. Such kinds are exempt, because a policy or webhook that rejects its own removal
/// would lock out every user.
fn is_exempt(kind: &Kind) -> bool {
    kind.resource.group == "admissionregistration.k8s.io"
}
