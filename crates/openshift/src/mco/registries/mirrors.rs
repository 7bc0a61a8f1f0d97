//! The mirrors of all mirror sets by their source, in an order that respects each set if possible (`pkg/registries` of
//! openshift/runtime-utils).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use windtunnel_core::resources::{
    IMAGE_CONTENT_SOURCE_POLICIES, IMAGE_DIGEST_MIRROR_SETS, IMAGE_TAG_MIRROR_SETS,
};
use windtunnel_core::{Resource, View};

const NEVER: &str = "NeverContactSource";

/// A repository, as in the schema of the newer kinds; older ones have no pattern there.
static REPOSITORY: LazyLock<Regex> = LazyLock::new(|| {
    let name = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let path = "[a-z0-9]+(?:(?:[._]|__|-*)[a-z0-9]+)*";
    Regex::new(&format!(r"^{name}(?:\.{name})*(?::[0-9]+)?(?:/{path})*$")).expect("pattern")
});

/// The mirrors that one object has for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MirrorSet {
    pub(super) source: String,
    mirrors: Vec<String>,
    /// Whether nodes never contact the source.
    is_blocked: bool,
}

/// The mirrors of a source from all sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergedSet<'a> {
    pub(super) source: &'a str,
    pub(super) mirrors: Vec<&'a str>,
    pub(super) is_blocked: bool,
}

/// The sets of all objects.
#[derive(Debug, Default)]
pub(super) struct MirrorSets {
    /// For images with a digest.
    digests: Vec<MirrorSet>,
    /// For images with a tag.
    tags: Vec<MirrorSet>,
    has_objects: bool,
}

impl MirrorSets {
    /// The sets of the cluster's objects.
    pub(super) fn of(view: &View) -> Self {
        let read = |kind: &Resource, field: &str| {
            let lists = view.list(kind).flat_map(|object| object.list(&format!("/spec/{field}")));
            lists.map(MirrorSet::of).collect::<Vec<_>>()
        };
        let mut digests = read(&IMAGE_DIGEST_MIRROR_SETS, "imageDigestMirrors");
        digests.extend(read(&IMAGE_CONTENT_SOURCE_POLICIES, "repositoryDigestMirrors"));
        let tags = read(&IMAGE_TAG_MIRROR_SETS, "imageTagMirrors");
        let kinds = [IMAGE_DIGEST_MIRROR_SETS, IMAGE_CONTENT_SOURCE_POLICIES, IMAGE_TAG_MIRROR_SETS];
        let has_objects = kinds.iter().any(|kind| view.list(kind).next().is_some());
        Self { digests, tags, has_objects }
    }

    /// Returns whether there are no objects, even without mirrors.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_objects
    }

    /// The merged sets for images with a digest, sorted by source.
    pub(super) fn merged_digests(&self) -> Vec<MergedSet<'_>> {
        merged(&self.digests)
    }

    /// The merged sets for images with a tag, sorted by source.
    pub(super) fn merged_tags(&self) -> Vec<MergedSet<'_>> {
        merged(&self.tags)
    }

    /// Returns whether images of a repository can be pulled by digest although these scopes are blocked.
    pub(super) fn has_open_mirror(&self, repository: &str, blocked: &[String]) -> bool {
        let sets = self.merged_digests();
        let closest = sets.iter().filter(|set| is_nested(repository, set.source));
        let closest = closest.max_by_key(|set| set.source.len());
        closest.is_some_and(|set| {
            let rest = repository.strip_prefix(set.source).unwrap_or_default();
            let is_open =
                |mirror: &&str| !blocked.iter().any(|scope| is_nested(&format!("{mirror}{rest}"), scope));
            set.mirrors.iter().any(is_open)
        })
    }

    /// Checks the sets (`validateRegistriesConfScopes` of openshift/machine-config-operator).
    ///
    /// # Errors
    /// The message of the controller.
    pub(super) fn validate(&self) -> Result<(), String> {
        let mut policies: BTreeMap<&str, bool> = BTreeMap::new();
        for MirrorSet { source, mirrors, is_blocked } in self.digests.iter().chain(&self.tags) {
            if !source.starts_with("*.") && !REPOSITORY.is_match(source) {
                return Err(format!("invalid format for source {source:?}"));
            }
            if *policies.entry(source).or_insert(*is_blocked) != *is_blocked {
                return Err(format!(
                    "conflicting mirrorSourcePolicy is set for the same source {source:?} in imagedigestmirrorsets, imagetagmirrorsets, or imagecontentsourcepolicies"
                ));
            }
            for mirror in mirrors {
                if !REPOSITORY.is_match(mirror) {
                    return Err(format!("invalid format for mirror {mirror:?}"));
                }
                if *is_blocked && mirror == source {
                    return Err(format!(
                        "cannot set mirrorSourcePolicy: {NEVER} if the source {source:?} is one of the mirrors"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl MirrorSet {
    fn of(set: &Value) -> Self {
        let mirrors = set["mirrors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Self {
            source: set["source"].as_str().unwrap_or_default().to_owned(),
            mirrors: mirrors.map(str::to_owned).collect(),
            is_blocked: set["mirrorSourcePolicy"] == NEVER,
        }
    }
}

/// Merges sets by their source. A set without another mirror than its source does not count, not even its policy.
fn merged(sets: &[MirrorSet]) -> Vec<MergedSet<'_>> {
    let mut by_source: BTreeMap<&str, Vec<&MirrorSet>> = BTreeMap::new();
    for set in sets.iter().filter(|set| set.mirrors.iter().any(|mirror| *mirror != set.source)) {
        by_source.entry(&set.source).or_default().push(set);
    }
    let merged = by_source.into_iter().map(|(source, sets)| {
        let mut mirrors = sorted(source, &sets);
        // The source is tried last in any case.
        mirrors.pop_if(|last| *last == source);
        MergedSet { source, mirrors, is_blocked: sets.iter().any(|set| set.is_blocked) }
    });
    merged.collect()
}

/// Sorts mirrors topologically by the orders in `sets`, which all end with the source. If several can be next, or none
/// because of a cycle, the first by name is next (`topoGraph` of openshift/runtime-utils).
fn sorted<'a>(source: &'a str, sets: &[&'a MirrorSet]) -> Vec<&'a str> {
    let mut before: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut after: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for set in sets {
        let mut order: Vec<&str> = set.mirrors.iter().map(String::as_str).collect();
        if !order.contains(&source) {
            order.push(source);
        }
        for pair in order.windows(2) {
            after.entry(pair[0]).or_default().insert(pair[1]);
            before.entry(pair[1]).or_default().insert(pair[0]);
            before.entry(pair[0]).or_default();
        }
    }
    let mut ready: VecDeque<&str> =
        before.iter().filter(|(_, earlier)| earlier.is_empty()).map(|(name, _)| *name).collect();
    let names: Vec<&str> = before.keys().copied().collect();
    let mut done: Vec<&str> = Vec::new();
    loop {
        let in_cycle = || names.iter().copied().find(|name| !done.contains(name));
        let Some(next) = ready.pop_front().or_else(in_cycle) else { return done };
        done.push(next);
        for later in after.remove(next).unwrap_or_default() {
            let earlier = before.entry(later).or_default();
            earlier.remove(next);
            if earlier.is_empty() && !done.contains(&later) {
                ready.push_back(later);
            }
        }
    }
}

/// Returns whether a scope is another one or in it (`ScopeIsNestedInsideScope` of openshift/runtime-utils).
pub(super) fn is_nested(scope: &str, other: &str) -> bool {
    let is_in_path = || scope.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    let is_in_domain = || {
        let domain = other.strip_prefix('*').filter(|domain| domain.starts_with('.'));
        let host = scope.split(':').next().unwrap_or_default();
        let host = if scope.contains(':') { host } else { host.split('/').next().unwrap_or_default() };
        domain.is_some_and(|domain| !host.contains('/') && host.ends_with(domain))
    };
    scope == other || is_in_path() || is_in_domain()
}
