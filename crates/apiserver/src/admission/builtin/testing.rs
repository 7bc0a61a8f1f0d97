//! A small cluster for tests of plug-ins.

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster, Permission,
};
use windtunnel_core::{Identity, Object, Resource};

/// A cluster with some objects. Its user has some permissions.
#[derive(Debug, Default)]
pub(in crate::admission::builtin) struct Cluster {
    minor: u32,
    objects: Vec<(Resource, Object)>,
    /// The user of the requests.
    pub(in crate::admission::builtin) user: Identity,
    /// The permissions of the user: `VERB RESOURCE NAME`.
    permissions: Vec<String>,
    /// The warnings so far.
    pub(in crate::admission::builtin) warnings: Vec<String>,
}

impl Cluster {
    /// An empty cluster of a Kubernetes minor.
    pub(in crate::admission::builtin) fn new(minor: u32) -> Self {
        Self { minor, ..Self::default() }
    }

    /// The same cluster with another minor.
    pub(in crate::admission::builtin) fn at(self, minor: u32) -> Self {
        Self { minor, ..self }
    }

    /// The same cluster with more objects.
    pub(in crate::admission::builtin) fn with(
        mut self,
        objects: impl IntoIterator<Item = (Resource, Value)>,
    ) -> Self {
        self.objects.extend(objects.into_iter().map(|(kind, object)| (kind, Object::new(object))));
        self
    }

    /// The same cluster with more permissions: `VERB RESOURCE NAME`.
    pub(in crate::admission::builtin) fn allowing(mut self, permissions: &[&str]) -> Self {
        self.permissions.extend(permissions.iter().map(|permission| (*permission).to_owned()));
        self
    }

    /// Runs a plug-in on the object of a create, or of an update if there is an old one.
    pub(in crate::admission::builtin) fn mutate(
        &mut self,
        plugin: &mut dyn AdmissionPlugin,
        resource: &Resource,
        subresource: &str,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), AdmissionRejection> {
        let (user, namespace, name) = (self.user.clone(), namespace(object), name(object));
        let request = request(resource, subresource, &namespace, &name, &user, old);
        plugin.mutate(&request, object, self)
    }

    /// Runs a plug-in on the deletion of an object.
    pub(in crate::admission::builtin) fn delete(
        &mut self,
        plugin: &mut dyn AdmissionPlugin,
        resource: &Resource,
        old: &Value,
    ) -> Result<(), AdmissionRejection> {
        let (user, namespace, name) = (self.user.clone(), namespace(old), name(old));
        let request = request(resource, "", &namespace, &name, &user, Some(old));
        let request = AdmissionRequest { operation: AdmissionOperation::Delete, ..request };
        plugin.mutate(&request, &mut Value::Null, self)
    }

    /// Runs the validation of a plug-in for a create, or for an update if there is an old object.
    pub(in crate::admission::builtin) fn validate(
        &mut self,
        plugin: &dyn AdmissionPlugin,
        resource: &Resource,
        subresource: &str,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), AdmissionRejection> {
        let (user, namespace, name) = (self.user.clone(), namespace(object), name(object));
        let request = request(resource, subresource, &namespace, &name, &user, old);
        plugin.validate(&request, Some(object), self)
    }
}

fn namespace(object: &Value) -> String {
    object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn request<'a>(
    resource: &'a Resource,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
    user: &'a Identity,
    old: Option<&'a Value>,
) -> AdmissionRequest<'a> {
    let operation = if old.is_some() { AdmissionOperation::Update } else { AdmissionOperation::Create };
    AdmissionRequest { operation, resource, subresource, namespace, name, user, old }
}

impl AdmittingCluster for Cluster {
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.objects(resource, namespace).into_iter().find(|object| object.name() == name)
    }

    fn objects(&self, resource: &Resource, namespace: &str) -> Vec<Object> {
        let of_kind = self.objects.iter().filter(|(kind, _)| kind == resource).map(|(_, object)| object);
        let is_in = |object: &&Object| namespace.is_empty() || object.namespace() == namespace;
        of_kind.filter(is_in).cloned().collect()
    }

    fn kinds(&self, api_version: &str, kind: &str) -> Vec<Resource> {
        let kinds = self.objects.iter().map(|(found, _)| found);
        kinds
            .filter(|found| found.kind == kind && found.has_api_version(api_version))
            .take(1)
            .cloned()
            .collect()
    }

    fn kubernetes_minor(&self) -> u32 {
        self.minor
    }

    fn now(&self) -> Time {
        Time::UNIX_EPOCH
    }

    fn allows(&mut self, _user: &Identity, permission: Permission<'_>) -> bool {
        let part = if permission.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{}{part}{}", permission.resource.plural, permission.subresource);
        let asked = format!("{} {resource} {}", permission.verb, permission.name);
        self.permissions.contains(&asked)
    }

    fn draw_name_suffix(&mut self, _resource: &Resource, _prefix: &str) -> String {
        "abcde".to_owned()
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }
}
