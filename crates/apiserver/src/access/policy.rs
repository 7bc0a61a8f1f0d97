//! Roles and bindings as an index that follows the store, and what it allows to whom (`RBACAuthorizer`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::aggregation::{self, Part};
use super::attributes::Attributes;
use super::binding::{Binding, RoleKind};
use super::rule::Rule;
use crate::selector::LabelSelector;
use crate::store::{Event, EventKind, Store, TableId};

/// How many users' rules are remembered at most; then all are found anew.
const REMEMBERED_USERS: usize = 4096;

/// Where roles and bindings are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    pub(crate) roles: TableId,
    pub(crate) bindings: TableId,
    pub(crate) cluster_roles: TableId,
    pub(crate) cluster_bindings: TableId,
}

/// A user as access control sees one: a name, and all groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) user: &'a str,
    pub(crate) groups: &'a [&'a str],
}

/// What was decided, and why (`authorizer.Decision`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    pub(crate) reason: String,
}

/// The rules of one role, which a binding gives to a user.
#[derive(Debug)]
pub(crate) struct Grant {
    binding: Arc<Binding>,
    /// Which of the binding's subjects the user is.
    subject: usize,
    /// `None` if there is no such role.
    pub(crate) rules: Option<Arc<[Rule]>>,
}

/// All grants of a user in a namespace, those of the cluster first.
type Grants = Arc<[Grant]>;

/// The bindings of a namespace, or those of the cluster.
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
    /// Which roles it is made of, if of others.
    selectors: Option<Vec<LabelSelector>>,
}

/// The index.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    tables: Tables,
    /// The revision that it knows of each table.
    seen: [u64; 4],
    /// Roles by namespace and name; cluster roles have no namespace.
    roles: BTreeMap<String, BTreeMap<String, Role>>,
    /// Bindings by namespace; those of the cluster have none.
    scopes: BTreeMap<String, Scope>,
    /// What was found since the last change: by user, then by groups and namespace.
    remembered: BTreeMap<String, Vec<Remembered>>,
    /// Whether a role that is made of others may have other rules by now.
    may_be_stale: bool,
}

#[derive(Debug, Clone)]
struct Remembered {
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

    /// Whether it is one of these.
    pub(crate) fn has(self, table: TableId) -> bool {
        self.all().contains(&table)
    }
}

impl Scope {
    /// Replaces or removes a binding.
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
            let of = if user { &mut self.users } else { &mut self.groups };
            let names = of.entry(key.clone()).or_default();
            change(names);
            if names.is_empty() {
                of.remove(&key);
            }
        }
    }

    /// The bindings that apply to a user, by name.
    fn of<'a>(&'a self, who: Subject<'a>) -> impl Iterator<Item = (&'a Arc<Binding>, usize)> {
        let names = self.users.get(who.user).into_iter();
        let names = names.chain(who.groups.iter().filter_map(|group| self.groups.get(*group)));
        let names: BTreeSet<&String> = names.flatten().collect();
        names.into_iter().filter_map(move |name| {
            let binding = self.bindings.get(name)?;
            Some((binding, binding.subject_of(who)?))
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
            remembered: BTreeMap::new(),
            may_be_stale: false,
        }
    }

    pub(crate) fn tables(&self) -> Tables {
        self.tables
    }

    /// Begins anew: what was read may not have happened.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.tables);
    }

    /// Brings the index up to the store: what was written since is all that is read.
    pub(crate) fn follow(&mut self, store: &Store) {
        for (at, table) in self.tables.all().into_iter().enumerate() {
            let history = &store.table(table).history;
            if history.latest() == self.seen[at] {
                continue;
            }
            self.remembered.clear();
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

    /// Reads a table as a whole.
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
            let moved = new.as_ref().map(|role| (role.labels.clone(), role.selectors.is_some()));
            let old = match new {
                Some(role) => named.insert(name.to_owned(), role),
                None => named.remove(name),
            };
            let old = old.map(|role| (role.labels, role.selectors.is_some()));
            self.may_be_stale = self.may_be_stale
                || [moved, old].into_iter().flatten().any(|(labels, made)| made || self.is_part(&labels));
        } else {
            let scope = self.scopes.entry(namespace.to_owned()).or_default();
            scope.set(name, object.map(|binding| Binding::read(binding, namespace, name)));
            if scope.bindings.is_empty() {
                self.scopes.remove(namespace);
            }
        }
    }

    /// The rules of a role; `None` if there is no such role.
    pub(crate) fn role(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<&Arc<[Rule]>> {
        let namespace = if kind == RoleKind::ClusterRole { "" } else { namespace };
        Some(&self.roles.get(namespace)?.get(name)?.rules)
    }

    fn cluster_roles(&self) -> impl Iterator<Item = (&String, &Role)> + Clone {
        self.roles.get("").into_iter().flatten()
    }

    /// Whether a cluster role is made of roles with these labels.
    fn is_part(&self, labels: &Value) -> bool {
        let selectors = self.cluster_roles().filter_map(|(_, role)| role.selectors.as_ref());
        selectors.flatten().any(|selector| selector.matches(labels))
    }

    /// How many cluster roles are made of others.
    pub(crate) fn aggregated(&self) -> usize {
        self.cluster_roles().filter(|(_, role)| role.selectors.is_some()).count()
    }

    /// A cluster role that is made of others and does not have the rules that it should, with these.
    pub(crate) fn stale_aggregate(&mut self) -> Option<(String, Vec<Rule>)> {
        if !std::mem::replace(&mut self.may_be_stale, false) {
            return None;
        }
        let stale = self.find_stale();
        // There may be more of them.
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

    /// What bindings give to a user in a namespace and in the cluster.
    pub(crate) fn grants(&mut self, who: Subject<'_>, namespace: &str) -> Grants {
        let same = |found: &&mut Remembered| found.groups == who.groups;
        let known = self.remembered.get_mut(who.user).and_then(|all| all.iter_mut().find(same));
        if let Some(found) = known.and_then(|found| found.by_namespace.get(namespace)) {
            return Arc::clone(found);
        }
        let grants: Grants = self.find(who, namespace).into();
        if self.remembered.len() >= REMEMBERED_USERS {
            self.remembered.clear();
        }
        let all = self.remembered.entry(who.user.to_owned()).or_default();
        let at = all.iter().position(|found| found.groups == who.groups).unwrap_or_else(|| {
            let groups = who.groups.iter().map(|&group| group.to_owned()).collect();
            all.push(Remembered { groups, by_namespace: BTreeMap::new() });
            all.len() - 1
        });
        all[at].by_namespace.insert(namespace.to_owned(), Arc::clone(&grants));
        grants
    }

    fn find(&self, who: Subject<'_>, namespace: &str) -> Vec<Grant> {
        let scopes = ["", namespace].into_iter().take(if namespace.is_empty() { 1 } else { 2 });
        let scopes = scopes.filter_map(|scope| self.scopes.get(scope));
        let found = scopes.flat_map(|scope| scope.of(who));
        let grant = |(binding, subject): (&Arc<Binding>, usize)| Grant {
            rules: self.role(binding.role_kind, &binding.namespace, &binding.role).cloned(),
            binding: Arc::clone(binding),
            subject,
        };
        found.map(grant).collect()
    }

    /// All rules of a user in a namespace, and what is said of the roles that are not there.
    pub(crate) fn rules(&mut self, who: Subject<'_>, namespace: &str) -> (Vec<Rule>, String) {
        let grants = self.grants(who, namespace);
        (grants.iter().flat_map(Grant::rules).cloned().collect(), lost_roles(&grants))
    }

    /// Whether bindings allow what is asked for, by what the index knew when it last followed the store. The reason names the
    /// binding that does, or the roles that are not there.
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
        let lost = lost_roles(grants);
        let reason = if lost.is_empty() { lost } else { format!("RBAC: {lost}") };
        Decision { allowed: false, reason }
    }

    /// The same without a reason, which costs to make.
    pub(crate) fn allows(&mut self, who: Subject<'_>, asked: &Attributes<'_>) -> bool {
        let grants = self.grants(who, &asked.namespace);
        grants.iter().flat_map(Grant::rules).any(|rule| rule.allows(asked))
    }
}

/// What is said of the roles that are not there: nothing, one text, or a list of them.
fn lost_roles(grants: &[Grant]) -> String {
    let lost: BTreeSet<String> = grants.iter().filter_map(Grant::lost_role).collect();
    let lost: Vec<String> = lost.into_iter().collect();
    if lost.len() > 1 { format!("[{}]", lost.join(", ")) } else { lost.concat() }
}

impl Grant {
    /// The rules, none if the role is not there.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Rule> + Clone {
        self.rules.iter().flat_map(|rules| rules.iter())
    }

    /// What is said of a role that is not there, as the authorizer's cache says it.
    fn lost_role(&self) -> Option<String> {
        let kind = self.binding.role_kind.name().to_lowercase();
        self.rules.is_none().then(|| self.binding.lost_role(&kind))
    }

    /// The same as the storage says it.
    pub(crate) fn lost_in_storage(&self) -> Option<String> {
        self.rules.is_none().then(|| self.binding.lost_role(self.binding.role_kind.plural()))
    }
}
