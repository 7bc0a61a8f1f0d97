//! A binding of a role to subjects, and its form in messages.

use serde_json::Value;

use crate::access::attributes::Subject;
use crate::gotext::quote;

/// `RoleBinding` or `ClusterRoleBinding`.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    /// Empty for a ClusterRoleBinding.
    pub(crate) namespace: String,
    name: String,
    pub(crate) role_kind: RoleKind,
    pub(crate) role: String,
    pub(crate) subjects: Vec<BoundSubject>,
}

/// The kind of role to which a binding refers.
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
    /// Reads the kind of a `roleRef`. Validation rejects other kinds.
    pub(crate) fn from_reference(reference: &Value) -> Self {
        if reference["kind"] == "ClusterRole" { Self::ClusterRole } else { Self::Role }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
        }
    }

    /// The plural resource name.
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

    /// Whether the subject is a user rather than a group, and its name; `None` if it matches nobody.
    pub(crate) fn key(&self, binding_namespace: &str) -> Option<(bool, String)> {
        match self.kind.as_str() {
            "User" => Some((true, self.name.clone())),
            "Group" => Some((false, self.name.clone())),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
                (!namespace.is_empty())
                    .then(|| (true, format!("system:serviceaccount:{namespace}:{}", self.name)))
            }
            _ => None,
        }
    }

    fn matches(&self, who: Subject<'_>, binding_namespace: &str) -> bool {
        match self.key(binding_namespace) {
            Some((true, user)) => user == who.user,
            Some((false, group)) => who.groups.contains(&group.as_str()),
            None => false,
        }
    }

    fn text(&self, binding_namespace: &str) -> String {
        if self.kind != "ServiceAccount" {
            return format!("{} {}", self.kind, quote(&self.name));
        }
        let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
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
            role_kind: RoleKind::from_reference(&object["roleRef"]),
            role: object["roleRef"]["name"].as_str().unwrap_or_default().to_owned(),
            subjects: subjects.map(BoundSubject::read).collect(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The index of the first subject that matches a user.
    pub(crate) fn find_subject(&self, who: Subject<'_>) -> Option<usize> {
        self.subjects.iter().position(|subject| subject.matches(who, &self.namespace))
    }

    /// The binding and one of its subjects as the reason of a review names them.
    pub(crate) fn text(&self, subject: usize) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", quote(&self.name))
        } else {
            ("RoleBinding", quote(&format!("{}/{}", self.name, self.namespace)))
        };
        let to = self.subjects.get(subject).map(|subject| subject.text(&self.namespace)).unwrap_or_default();
        format!("{kind} {name} of {} {} to {to}", self.role_kind.name(), quote(&self.role))
    }

    /// The error if the role does not exist; `kind` is the role's kind as the caller words it.
    pub(crate) fn role_not_found(&self, kind: &str) -> String {
        format!("{kind}.rbac.authorization.k8s.io {} not found", quote(&self.role))
    }
}
