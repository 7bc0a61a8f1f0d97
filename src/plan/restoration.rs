//! The expectation that a cluster is what it was before an update.

use std::fmt;

use semver::Version;
use windtunnel_core::{Key, Resource};

use super::{FieldPath, ObjectRef};

/// The expectation that nothing is left over of an update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restoration {
    /// The state to compare with.
    pub to: PastState,
    /// The differences that may remain.
    pub ignored: Vec<Ignored>,
}

/// An earlier state of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PastState {
    /// Right before the cluster last left the release that it runs now.
    #[default]
    CurrentRelease,
    /// Right before the cluster last left this release.
    Release(Version),
    /// The start of the run.
    Start,
    /// The state that an earlier step kept under this name.
    Kept(String),
}

/// Differences that may remain: a field of objects, or whole objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Ignored {
    /// The objects.
    pub objects: IgnoredObjects,
    /// The field, with everything in it; an empty path is the whole object.
    pub field: FieldPath,
}

/// The objects of ignored differences.
#[derive(Debug, Clone, PartialEq)]
pub enum IgnoredObjects {
    /// All objects.
    All,
    /// All objects of a kind.
    Kind(Resource),
    /// One object, or those whose names begin with a text and `*`.
    Named(ObjectRef),
}

impl Ignored {
    /// Whether a difference may remain: a field of the object with this key, or with an empty path the whole object.
    pub fn covers(&self, key: &Key, field: &FieldPath) -> bool {
        let covers_object = match &self.objects {
            IgnoredObjects::All => true,
            IgnoredObjects::Kind(resource) => key.is_kind(resource),
            IgnoredObjects::Named(object) => {
                key.is_kind(&object.resource)
                    && key.namespace == object.namespace
                    && fits(&key.name, &object.name)
            }
        };
        covers_object && field.is_in(&self.field)
    }
}

fn fits(name: &str, wanted: &str) -> bool {
    wanted.strip_suffix('*').map_or(name == wanted, |start| name.starts_with(start))
}

impl fmt::Display for Restoration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cluster is restored")?;
        match &self.to {
            PastState::CurrentRelease => {}
            PastState::Release(version) => write!(f, " to {version}")?,
            PastState::Start => f.write_str(" to its start")?,
            PastState::Kept(name) => write!(f, " to {name}")?,
        }
        match self.ignored.len() {
            0 => Ok(()),
            1 => write!(f, " except {}", self.ignored[0]),
            more => write!(f, " except {} and {} more", self.ignored[0], more - 1),
        }
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = match &self.objects {
            IgnoredObjects::All => return write!(f, "{}", self.field),
            IgnoredObjects::Kind(resource) => resource.kind.to_string(),
            IgnoredObjects::Named(object) => {
                let namespace = if object.namespace.is_empty() {
                    String::new()
                } else {
                    format!("{}/", object.namespace)
                };
                format!("{}/{namespace}{}", object.resource.kind, object.name)
            }
        };
        if self.field.is_empty() { f.write_str(&objects) } else { write!(f, "{} of {objects}", self.field) }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::{CLUSTER_VERSIONS, CONFIG_MAPS};

    use super::*;

    #[test]
    fn ignored_objects_are_selected_by_kind_name_and_field() {
        let version = CLUSTER_VERSIONS.key("", "version");
        let path = |text: &str| FieldPath::parse(text).unwrap();
        let ignored = |objects, field: &str| Ignored {
            objects,
            field: if field.is_empty() { FieldPath::default() } else { path(field) },
        };
        let named = |name: &str| {
            IgnoredObjects::Named(ObjectRef {
                resource: CLUSTER_VERSIONS,
                namespace: String::new(),
                name: name.to_owned(),
            })
        };
        for (objects, field, covers) in [
            (IgnoredObjects::All, "status", true),
            (IgnoredObjects::All, "spec", false),
            (IgnoredObjects::Kind(CLUSTER_VERSIONS), "", true),
            (IgnoredObjects::Kind(CONFIG_MAPS), "", false),
            (named("ver*"), "status", true),
            (named("ver"), "status", false),
            (named("version"), "status.history", false),
        ] {
            let ignored = ignored(objects, field);
            assert_eq!(ignored.covers(&version, &path("status.capabilities")), covers, "{ignored}");
        }
        // A field does not cover the whole object.
        assert!(!ignored(named("version"), "status").covers(&version, &FieldPath::default()));
    }
}
