//! The catalog of kinds, which resolves paths to kinds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::ResourcePath;

type Name = Cow<'static, str>;
/// The versions of one plural, in order of preference.
type Versions = Vec<Arc<Kind>>;

/// All kinds, and the Kubernetes minor that decides which of them are served.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    minor: u32,
    groups: BTreeMap<Name, BTreeMap<Name, Versions>>,
}

impl Catalog {
    /// An empty catalog of Kubernetes 1.`minor`.
    pub(crate) fn new(minor: u32) -> Self {
        Self { minor, groups: BTreeMap::new() }
    }

    /// Switches to the kinds that Kubernetes 1.`minor` serves.
    pub(crate) fn set_minor(&mut self, minor: u32) {
        self.minor = minor;
    }

    /// The x of Kubernetes 1.x.
    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }

    pub(crate) fn add_builtin(&mut self, kind: Kind) {
        let versions = self.versions_mut(kind.resource.group.clone(), kind.resource.plural.clone());
        versions.push(Arc::new(kind));
    }

    /// Replaces the versions of a kind. An empty list removes the kind.
    pub(crate) fn replace_versions(&mut self, group: &str, plural: &str, kinds: Vec<Kind>) {
        if kinds.is_empty() {
            if let Some(plurals) = self.groups.get_mut(group) {
                plurals.remove(plural);
                if plurals.is_empty() {
                    self.groups.remove(group);
                }
            }
            return;
        }
        let versions = self.versions_mut(group.to_owned().into(), plural.to_owned().into());
        *versions = kinds.into_iter().map(Arc::new).collect();
    }

    fn versions_mut(&mut self, group: Name, plural: Name) -> &mut Versions {
        self.groups.entry(group).or_default().entry(plural).or_default()
    }

    /// Whether this minor serves a group without CustomResourceDefinitions.
    pub(crate) fn is_builtin(&self, group: &str) -> bool {
        let mut kinds = self.groups.get(group).into_iter().flat_map(|plurals| plurals.values().flatten());
        kinds.any(|kind| kind.custom.is_none() && kind.is_served(self.minor))
    }

    /// Finds the served kind of a group, version and plural.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        let mut versions = self.versions(group, plural).iter();
        versions.find(|kind| kind.resource.version == version && kind.is_served(self.minor))
    }

    /// The versions of a group and plural, including built-in ones that this minor does not serve.
    pub(crate) fn versions(&self, group: &str, plural: &str) -> &[Arc<Kind>] {
        self.groups.get(group).and_then(|plurals| plurals.get(plural)).map_or(&[], Vec::as_slice)
    }

    /// All served kinds, by group and plural.
    pub(crate) fn served(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.stored().filter(|kind| kind.is_served(self.minor))
    }

    /// All kinds that may have stored objects, by group and plural.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.groups.values().flat_map(|plurals| plurals.values().flatten())
    }

    /// Resolves a path to its kind. The scope must match as well.
    pub(crate) fn resolve(&self, path: &ResourcePath<'_>) -> Outcome<Arc<Kind>> {
        let missing = || {
            if self.is_builtin(&path.group) {
                BoxedRejection::unknown_resource()
            } else {
                BoxedRejection::unknown_path()
            }
        };
        let kind = self.find(&path.group, &path.version, &path.resource).ok_or_else(missing)?;
        let lost_scope =
            !kind.resource.namespaced && (!path.namespace.is_empty() || path.has_empty_namespace);
        let has_namespace = !path.namespace.is_empty() || path.has_empty_namespace;
        let lost_namespace = kind.resource.namespaced && !has_namespace && !path.name.is_empty();
        if lost_scope || lost_namespace {
            return Err(missing());
        }
        Ok(Arc::clone(kind))
    }
}
