//! An index of roles and bindings that follows the store, and its RBAC decisions (`RBACAuthorizer`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::access::attributes::{Attributes, Subject};
use crate::access::rbac::aggregation::{self, Part};
use crate::access::rbac::binding::{Binding, RoleKind};
use crate::access::rbac::rule::Rule;
use crate::selector::LabelSelector;
use crate::store::{Event, EventKind, Store, TableId};

/// The maximum number of users in the cache. When it is full, it is emptied.
const MAX_CACHED_USERS: usize = 4096;

/// The tables of roles and bindings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    pub(crate) roles: TableId,
    pub(crate) bindings: TableId,
    pub(crate) cluster_roles: TableId,
    pub(crate) cluster_bindings: TableId,
}

/// An authorization decision and its reason (`authorizer.Decision`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    pub(crate) reason: String,
}

/// The rules of a role that one binding grants to a user.
#[derive(Debug)]
pub(crate) struct Grant {
    binding: Arc<Binding>,
    /// The index of the binding's subject that matches the user.
    subject: usize,
    /// `None` if the role does not exist.
    pub(crate) rules: Option<Arc<[Rule]>>,
}

/// All grants of a user in a namespace: first those of ClusterRoleBindings.
type Grants = Arc<[Grant]>;

/// The RoleBindings of one namespace, or all ClusterRoleBindings, indexed by subject.
#[derive(Debug, Clone, Default)]
struct Scope {
    bindings: BTreeMap<String, Arc<Binding>>,
    users: BTreeMap<String, BTreeSet<String>>,
    groups: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Clone)]
struct Role {
    rules: Arc<[Rule]>,
    labels: Value,
    /// The selectors of an aggregated role.
    selectors: Option<Vec<LabelSelector>>,
}

/// The index of roles and bindings.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    tables: Tables,
    /// The last applied revision of each table.
    seen: [u64; 4],
    /// Roles by namespace and name; ClusterRoles are under the empty namespace.
    roles: BTreeMap<String, BTreeMap<String, Role>>,
    /// Bindings by namespace; ClusterRoleBindings are under the empty namespace.
    scopes: BTreeMap<String, Scope>,
    /// The grants found since the last change, by user.
    cache: BTreeMap<String, Vec<CachedGrants>>,
    /// Whether the rules of an aggregated role may be outdated.
    may_be_stale: bool,
}

#[derive(Debug, Clone)]
struct CachedGrants {
    groups: Vec<String>,
    by_namespace: BTreeMap<String, Grants>,
}

impl Role {
    fn read(object: &Value) -> Self {
        Self {
            rules: Rule::read_all(object).into(),
            labels: object["metadata"]["labels"].clone(),
            selectors: aggregation::selectors(object),
        }
    }
}

impl Tables {
    fn all(self) -> [TableId; 4] {
        [self.roles, self.bindings, self.cluster_roles, self.cluster_bindings]
    }

    /// Whether the table is one of these.
    pub(crate) fn has(self, table: TableId) -> bool {
        self.all().contains(&table)
    }
}

impl Scope {
    /// Replaces the binding, or removes it for `None`.
    fn set(&mut self, name: &str, binding: Option<Binding>) {
        if let Some(old) = self.bindings.remove(name) {
            self.index(&old, |names| {
                names.remove(name);
            });
        }
        if let Some(binding) = binding {
            self.index(&binding, |names| {
                names.insert(name.to_owned());
            });
            self.bindings.insert(name.to_owned(), Arc::new(binding));
        }
    }

    fn index(&mut self, binding: &Binding, change: impl Fn(&mut BTreeSet<String>)) {
        for subject in &binding.subjects {
            let Some((user, key)) = subject.key(&binding.namespace) else { continue };
            let subjects = if user { &mut self.users } else { &mut self.groups };
            let names = subjects.entry(key.clone()).or_default();
            change(names);
            if names.is_empty() {
                subjects.remove(&key);
            }
        }
    }

    /// The bindings that apply to a user, sorted by name, each with the index of the matching subject.
    fn bindings_for<'a>(&'a self, who: Subject<'a>) -> impl Iterator<Item = (&'a Arc<Binding>, usize)> {
        let names = self.users.get(who.user).into_iter();
        let names = names.chain(who.groups.iter().filter_map(|group| self.groups.get(*group)));
        let names: BTreeSet<&String> = names.flatten().collect();
        names.into_iter().filter_map(move |name| {
            let binding = self.bindings.get(name)?;
            Some((binding, binding.find_subject(who)?))
        })
    }
}

impl Policy {
    pub(crate) fn new(tables: Tables) -> Self {
        Self {
            tables,
            seen: [0; 4],
            roles: BTreeMap::new(),
            scopes: BTreeMap::new(),
            cache: BTreeMap::new(),
            may_be_stale: false,
        }
    }

    pub(crate) fn tables(&self) -> Tables {
        self.tables
    }

    /// Empties the index. A rewind of the store may have undone the changes in it.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.tables);
    }

    /// Updates the index with the changes since the last call. Reads a table whole if its history was compacted.
    pub(crate) fn follow(&mut self, store: &Store) {
        for (at, table) in self.tables.all().into_iter().enumerate() {
            let history = &store.table(table).history;
            if history.latest() == self.seen[at] {
                continue;
            }
            self.cache.clear();
            match history.since(self.seen[at]) {
                Ok(events) => events.for_each(|event| self.apply(table, event)),
                Err(_) => self.read(table, store),
            }
            self.seen[at] = history.latest();
        }
    }

    fn apply(&mut self, table: TableId, event: &Event) {
        let object = (event.kind != EventKind::Deleted).then_some(&*event.object);
        self.set(table, &event.key.namespace, &event.key.name, object);
    }

    /// Replaces the index of a table by its stored objects.
    fn read(&mut self, table: TableId, store: &Store) {
        let cluster = table == self.tables.cluster_roles || table == self.tables.cluster_bindings;
        if table == self.tables.roles || table == self.tables.cluster_roles {
            self.roles.retain(|namespace, _| namespace.is_empty() != cluster);
        } else {
            self.scopes.retain(|namespace, _| namespace.is_empty() != cluster);
        }
        for (namespace, name, entry) in store.list(table, "") {
            self.set(table, namespace, name, Some(&entry.served()));
        }
    }

    fn set(&mut self, table: TableId, namespace: &str, name: &str, object: Option<&Value>) {
        if table == self.tables.roles || table == self.tables.cluster_roles {
            let named = self.roles.entry(namespace.to_owned()).or_default();
            let new = object.map(Role::read);
            let after = new.as_ref().map(|role| (role.labels.clone(), role.selectors.is_some()));
            let replaced = match new {
                Some(role) => named.insert(name.to_owned(), role),
                None => named.remove(name),
            };
            let before = replaced.map(|role| (role.labels, role.selectors.is_some()));
            self.may_be_stale = self.may_be_stale
                || [after, before]
                    .into_iter()
                    .flatten()
                    .any(|(labels, is_aggregated)| is_aggregated || self.is_part(&labels));
        } else {
            let scope = self.scopes.entry(namespace.to_owned()).or_default();
            scope.set(name, object.map(|binding| Binding::read(binding, namespace, name)));
            if scope.bindings.is_empty() {
                self.scopes.remove(namespace);
            }
        }
    }

    /// The rules of a role; `None` if the role does not exist.
    pub(crate) fn role(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<&Arc<[Rule]>> {
        let namespace = if kind == RoleKind::ClusterRole { "" } else { namespace };
        Some(&self.roles.get(namespace)?.get(name)?.rules)
    }

    fn cluster_roles(&self) -> impl Iterator<Item = (&String, &Role)> + Clone {
        self.roles.get("").into_iter().flatten()
    }

    /// Whether an aggregated ClusterRole selects roles with these labels.
    fn is_part(&self, labels: &Value) -> bool {
        let selectors = self.cluster_roles().filter_map(|(_, role)| role.selectors.as_ref());
        selectors.flatten().any(|selector| selector.matches(labels))
    }

    /// The number of aggregated ClusterRoles.
    pub(crate) fn aggregated(&self) -> usize {
        self.cluster_roles().filter(|(_, role)| role.selectors.is_some()).count()
    }

    /// An aggregated ClusterRole with outdated rules, and the rules that it should have.
    pub(crate) fn stale_aggregate(&mut self) -> Option<(String, Vec<Rule>)> {
        if !std::mem::replace(&mut self.may_be_stale, false) {
            return None;
        }
        let stale = self.find_stale();
        // There may be more stale roles.
        self.may_be_stale = stale.is_some();
        stale
    }

    fn find_stale(&self) -> Option<(String, Vec<Rule>)> {
        let parts =
            self.cluster_roles().map(|(name, role)| Part { name, labels: &role.labels, rules: &role.rules });
        self.cluster_roles().find_map(|(name, role)| {
            let rules = aggregation::rules(name, role.selectors.as_ref()?, &parts);
            (rules != *role.rules).then(|| (name.clone(), rules))
        })
    }

    /// The grants of a user from the bindings of a namespace and from ClusterRoleBindings.
    pub(crate) fn grants(&mut self, who: Subject<'_>, namespace: &str) -> Grants {
        let same = |found: &&mut CachedGrants| found.groups == who.groups;
        let known = self.cache.get_mut(who.user).and_then(|all| all.iter_mut().find(same));
        if let Some(found) = known.and_then(|found| found.by_namespace.get(namespace)) {
            return Arc::clone(found);
        }
        let grants: Grants = self.find(who, namespace).into();
        if self.cache.len() >= MAX_CACHED_USERS {
            self.cache.clear();
        }
        let all = self.cache.entry(who.user.to_owned()).or_default();
        let at = all.iter().position(|found| found.groups == who.groups).unwrap_or_else(|| {
            let groups = who.groups.iter().map(|&group| group.to_owned()).collect();
            all.push(CachedGrants { groups, by_namespace: BTreeMap::new() });
            all.len() - 1
        });
        all[at].by_namespace.insert(namespace.to_owned(), Arc::clone(&grants));
        grants
    }

    fn find(&self, who: Subject<'_>, namespace: &str) -> Vec<Grant> {
        let scopes = ["", namespace].into_iter().take(if namespace.is_empty() { 1 } else { 2 });
        let scopes = scopes.filter_map(|scope| self.scopes.get(scope));
        let found = scopes.flat_map(|scope| scope.bindings_for(who));
        found.map(|(binding, subject)| self.grant(binding, subject)).collect()
    }

    fn grant(&self, binding: &Arc<Binding>, subject: usize) -> Grant {
        let rules = self.role(binding.role_kind, &binding.namespace, &binding.role).cloned();
        Grant { rules, binding: Arc::clone(binding), subject }
    }

    /// The grants of a user from all bindings, except those that the user has as a member of these groups.
    pub(crate) fn all_grants(&self, who: Subject<'_>, except: &[&str]) -> Vec<Grant> {
        let found = self.scopes.values().flat_map(|scope| scope.bindings_for(who));
        let own = found.filter(|(binding, subject)| {
            let key = binding.subjects.get(*subject).and_then(|subject| subject.key(&binding.namespace));
            key.is_some_and(|(is_user, name)| is_user || !except.contains(&name.as_str()))
        });
        own.map(|(binding, subject)| self.grant(binding, subject)).collect()
    }

    /// All rules of a user in a namespace, and the error about roles that do not exist.
    pub(crate) fn rules(&mut self, who: Subject<'_>, namespace: &str) -> (Vec<Rule>, String) {
        let grants = self.grants(who, namespace);
        (grants.iter().flat_map(Grant::rules).cloned().collect(), roles_not_found(&grants))
    }

    /// Decides by the index as of its last update. The reason names the binding that allows the request, or the bound
    /// roles that do not exist.
    pub(crate) fn decide(&self, who: Subject<'_>, asked: &Attributes<'_>) -> Decision {
        Self::decide_by(&self.find(who, &asked.namespace), asked)
    }

    fn decide_by(grants: &[Grant], asked: &Attributes<'_>) -> Decision {
        let allows = |grant: &&Grant| {
            grant.rules.as_ref().is_some_and(|rules| rules.iter().any(|rule| rule.allows(asked)))
        };
        if let Some(grant) = grants.iter().find(allows) {
            let reason = format!("RBAC: allowed by {}", grant.binding.text(grant.subject));
            return Decision { allowed: true, reason };
        }
        let error = roles_not_found(grants);
        let reason = if error.is_empty() { error } else { format!("RBAC: {error}") };
        Decision { allowed: false, reason }
    }

    /// Decides like [`Policy::decide`], but uses the cache and builds no reason.
    pub(crate) fn allows(&mut self, who: Subject<'_>, asked: &Attributes<'_>) -> bool {
        let grants = self.grants(who, &asked.namespace);
        grants.iter().flat_map(Grant::rules).any(|rule| rule.allows(asked))
    }
}

/// The error about roles that do not exist: empty, one message, or a list of messages.
fn roles_not_found(grants: &[Grant]) -> String {
    let errors: BTreeSet<String> = grants.iter().filter_map(Grant::role_not_found).collect();
    let errors: Vec<String> = errors.into_iter().collect();
    if errors.len() > 1 { format!("[{}]", errors.join(", ")) } else { errors.concat() }
}

impl Grant {
    /// The rules; none if the role does not exist.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Rule> + Clone {
        self.rules.iter().flat_map(|rules| rules.iter())
    }

    /// The namespace in which it grants the rules; empty for all.
    pub(crate) fn namespace(&self) -> &str {
        &self.binding.namespace
    }

    /// The binding and the role, as `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    pub(crate) fn names(&self) -> (String, String) {
        let (namespace, role) = (self.namespace(), &self.binding.role);
        let binding = match namespace {
            "" => format!("ClusterRoleBinding/{}", self.binding.name()),
            namespace => format!("RoleBinding/{namespace}/{}", self.binding.name()),
        };
        match self.binding.role_kind {
            RoleKind::ClusterRole => (binding, format!("ClusterRole/{role}")),
            RoleKind::Role => (binding, format!("Role/{namespace}/{role}")),
        }
    }

    /// The error about a role that does not exist, as the authorizer's cache words it.
    fn role_not_found(&self) -> Option<String> {
        let kind = self.binding.role_kind.name().to_lowercase();
        self.rules.is_none().then(|| self.binding.role_not_found(&kind))
    }

    /// The error about a role that does not exist, as the storage words it.
    pub(crate) fn stored_role_not_found(&self) -> Option<String> {
        self.rules.is_none().then(|| self.binding.role_not_found(self.binding.role_kind.plural()))
    }
}
