//! A binding of a role to subjects, and how texts name it.

use serde_json::Value;

use super::policy::Subject;
use crate::gotext::quote;

/// `RoleBinding` or `ClusterRoleBinding`.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    /// Empty for a binding of the cluster.
    pub(crate) namespace: String,
    name: String,
    pub(crate) role_kind: RoleKind,
    pub(crate) role: String,
    pub(crate) subjects: Vec<BoundSubject>,
}

/// Which kind of role a binding refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleKind {
    Role,
    ClusterRole,
}

/// `rbac.authorization.k8s.io/v1 Subject`.
#[derive(Debug, Clone)]
pub(crate) struct BoundSubject {
    kind: String,
    name: String,
    namespace: String,
}

impl RoleKind {
    /// The kind of a `roleRef`. Validation lets no other kind in.
    pub(crate) fn of(reference: &Value) -> Self {
        if reference["kind"] == "ClusterRole" { Self::ClusterRole } else { Self::Role }
    }

    /// The name of the kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
        }
    }

    /// The plural of the kind.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
        }
    }
}

impl BoundSubject {
    fn read(value: &Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        Self { kind: text("kind"), name: text("name"), namespace: text("namespace") }
    }

    /// Whether it is a user rather than a group, and its name; `None` if it can be nobody.
    pub(crate) fn key(&self, of_binding: &str) -> Option<(bool, String)> {
        match self.kind.as_str() {
            "User" => Some((true, self.name.clone())),
            "Group" => Some((false, self.name.clone())),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { of_binding } else { &self.namespace };
                (!namespace.is_empty())
                    .then(|| (true, format!("system:serviceaccount:{namespace}:{}", self.name)))
            }
            _ => None,
        }
    }

    fn is(&self, who: Subject<'_>, of_binding: &str) -> bool {
        match self.key(of_binding) {
            Some((true, user)) => user == who.user,
            Some((false, group)) => who.groups.contains(&group.as_str()),
            None => false,
        }
    }

    fn text(&self, of_binding: &str) -> String {
        if self.kind != "ServiceAccount" {
            return format!("{} {}", self.kind, quote(&self.name));
        }
        let namespace = if self.namespace.is_empty() { of_binding } else { &self.namespace };
        format!("{} {}", self.kind, quote(&format!("{}/{namespace}", self.name)))
    }
}

impl Binding {
    /// Reads a stored binding.
    pub(crate) fn read(object: &Value, namespace: &str, name: &str) -> Self {
        let subjects = object["subjects"].as_array().into_iter().flatten();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role_kind: RoleKind::of(&object["roleRef"]),
            role: object["roleRef"]["name"].as_str().unwrap_or_default().to_owned(),
            subjects: subjects.map(BoundSubject::read).collect(),
        }
    }

    /// The first subject that a user is.
    pub(crate) fn subject_of(&self, who: Subject<'_>) -> Option<usize> {
        self.subjects.iter().position(|subject| subject.is(who, &self.namespace))
    }

    /// How the reason of a review names it, bound to one of its subjects.
    pub(crate) fn text(&self, subject: usize) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", quote(&self.name))
        } else {
            ("RoleBinding", quote(&format!("{}/{}", self.name, self.namespace)))
        };
        let to = self.subjects.get(subject).map(|subject| subject.text(&self.namespace)).unwrap_or_default();
        format!("{kind} {name} of {} {} to {to}", self.role_kind.name(), quote(&self.role))
    }

    /// What is said when its role is not there, whatever the kind is called.
    pub(crate) fn lost_role(&self, kind: &str) -> String {
        format!("{kind}.rbac.authorization.k8s.io {} not found", quote(&self.role))
    }
}
