//! Kinds of objects ([`Resource`]) and keys of single objects ([`Key`]).

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::object::{name_of, text_at};
use crate::Object;

/// A kind as the API serves it, with its group, version and plural.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// API version within the group, such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind in an object's `kind` field, such as `ClusterVersion`.
    pub kind: Cow<'static, str>,
    /// Lower-case plural in URLs, such as `clusterversions`.
    pub plural: Cow<'static, str>,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Resource {
    /// Creates a cluster-scoped kind from constants.
    pub const fn cluster(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            plural: Cow::Borrowed(plural),
            namespaced: false,
        }
    }

    /// Creates a namespaced kind from constants.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        let mut resource = Self::cluster(group, version, kind, plural);
        resource.namespaced = true;
        resource
    }

    /// The kind that a CustomResourceDefinition defines, with the version that is stored. `None` if the
    /// definition lacks a group, a kind, a plural or a stored version.
    pub fn of_definition(definition: &Value) -> Option<Self> {
        let versions = definition["spec"]["versions"].as_array()?;
        let stored = versions.iter().find(|version| version["storage"] == true)?;
        Self::of_definition_with_version(definition, stored["name"].as_str()?)
    }

    /// The kind that a CustomResourceDefinition defines, with this version, whether the definition has it or
    /// not. `None` if the definition lacks a group, a kind or a plural.
    pub fn of_definition_with_version(definition: &Value, version: &str) -> Option<Self> {
        let spec = &definition["spec"];
        let text = |value: &Value| Some(Cow::Owned(value.as_str()?.to_owned()));
        Some(Self {
            group: text(&spec["group"])?,
            version: Cow::Owned(version.to_owned()),
            kind: text(&spec["names"]["kind"])?,
            plural: text(&spec["names"]["plural"])?,
            namespaced: spec["scope"] == "Namespaced",
        })
    }

    /// The `apiVersion` of this kind's objects: `v1`, `config.openshift.io/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether objects of this kind have this `apiVersion`.
    pub fn has_api_version(&self, api_version: &str) -> bool {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        group == self.group && version == self.version && !(group.is_empty() && api_version.contains('/'))
    }

    /// Whether the `apiVersion` and `kind` of an object are those of this kind.
    pub fn is_kind_of(&self, object: &serde_json::Value) -> bool {
        object["kind"] == *self.kind
            && object["apiVersion"].as_str().is_some_and(|version| self.has_api_version(version))
    }

    /// The kind of the object with this key, in the version of the object.
    pub fn from_object(key: &Key, object: &Object) -> Self {
        let api_version = object.text("/apiVersion");
        let version = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
        Self {
            group: key.group.clone(),
            version: version.to_owned().into(),
            kind: object.text("/kind").to_owned().into(),
            plural: key.plural.clone(),
            namespaced: !key.namespace.is_empty(),
        }
    }

    /// The API path of an object. Without a name, the path of the collection; without a namespace, of all
    /// namespaces.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let mut path = format!("{root}/{}", self.api_version());
        if !namespace.is_empty() && self.namespaced {
            path += &format!("/namespaces/{namespace}");
        }
        path += &format!("/{}", self.plural);
        if !name.is_empty() {
            path += &format!("/{name}");
        }
        path
    }

    /// The key of an object of this kind, from its metadata.
    pub fn key_of(&self, object: &serde_json::Value) -> Key {
        self.key(text_at(object, "/metadata/namespace"), name_of(object))
    }

    /// The key of the object of this kind, namespace and name. Ignores `namespace` for cluster-scoped kinds.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        Key {
            group: self.group.clone(),
            plural: self.plural.clone(),
            namespace: if self.namespaced { namespace.to_owned() } else { String::new() },
            name: name.to_owned(),
        }
    }
}

/// The identity of one object: its kind by group and plural, independent of the version, its namespace and
/// its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Lower-case plural.
    pub plural: Cow<'static, str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
}

impl Key {
    /// Whether this is the key of an object of `resource`.
    pub fn is_kind(&self, resource: &Resource) -> bool {
        self.group == resource.group && self.plural == resource.plural
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}
