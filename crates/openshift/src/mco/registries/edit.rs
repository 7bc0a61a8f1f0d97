//! The changes of `registries.conf` (`EditRegistriesConfig` of openshift/runtime-utils).

use windtunnel_controllers::registries_conf::{
    DIGEST_ONLY, MirrorEntry, RegistriesConf, RegistryEntry, TAG_ONLY,
};

use super::mirrors::{MergedSet, MirrorSets, is_nested};
use crate::manifests::MajorMinor;

/// The first minor that restricts each mirror to digests or tags, and not all mirrors of a registry to digests.
pub(in crate::mco) const PER_MIRROR: MajorMinor = (4, 13);

/// What is written into the file.
pub(super) struct Edits<'a> {
    pub(super) sets: &'a MirrorSets,
    /// Scopes without verified certificates.
    pub(super) insecure: &'a [String],
    /// Scopes from which nothing is pulled.
    pub(super) blocked: &'a [String],
    /// The minor of the controller.
    pub(super) line: MajorMinor,
}

impl Edits<'_> {
    /// Changes the file.
    ///
    /// # Errors
    /// The message of the controller about a set or a scope that is not valid.
    pub(super) fn apply(&self, mut conf: RegistriesConf) -> Result<RegistriesConf, String> {
        for (name, scopes) in [("insecure", self.insecure), ("blocked", self.blocked)] {
            validate_scopes(name, scopes)?;
        }
        self.sets.validate()?;
        let (digests, tags) = (self.sets.merged_digests(), self.sets.merged_tags());
        for set in &digests {
            self.add_mirrors(set, DIGEST_ONLY, &mut conf);
        }
        for set in &tags {
            self.add_mirrors(set, TAG_ONLY, &mut conf);
        }
        for scope in self.blocked {
            entry(&mut conf, scope);
        }
        for scope in self.insecure {
            entry(&mut conf, scope);
            mark_insecure(scope, &mut conf);
        }
        for scope in self.blocked {
            let nested = conf.registries.iter_mut().filter(|registry| is_nested(registry.scope(), scope));
            nested.for_each(|registry| registry.is_blocked = true);
        }
        for set in digests.iter().chain(&tags) {
            share_mirrors(set.source, &mut conf);
        }
        Ok(conf)
    }

    fn add_mirrors(&self, set: &MergedSet<'_>, restriction: &str, conf: &mut RegistriesConf) {
        let is_per_mirror = self.line >= PER_MIRROR;
        let registry = entry(conf, set.source);
        registry.is_blocked |= set.is_blocked;
        registry.mirrors_by_digest_only |= !is_per_mirror;
        let restriction = if is_per_mirror { restriction } else { "" };
        registry.mirrors.extend(set.mirrors.iter().map(|mirror| MirrorEntry {
            location: (*mirror).to_owned(),
            is_insecure: false,
            pull_from_mirror: restriction.to_owned(),
        }));
    }
}

/// Fails for a scope that `registries.conf` cannot have.
///
/// # Errors
/// The message of the controller.
pub(super) fn validate_scopes(list: &str, scopes: &[String]) -> Result<(), String> {
    let is_valid = |scope: &&String| match scope.strip_prefix("*.") {
        _ if !scope.contains('*') => !scope.is_empty(),
        Some(domain) => !domain.contains(['/', '@', ':', '*']),
        None => false,
    };
    match scopes.iter().find(|scope| !is_valid(scope)) {
        Some(scope) => Err(format!("invalid entry for {list} registries {scope:?}")),
        None => Ok(()),
    }
}

/// The entry of a scope, which is created if it does not exist.
fn entry<'a>(conf: &'a mut RegistriesConf, scope: &str) -> &'a mut RegistryEntry {
    let index = conf.registries.iter().position(|registry| registry.scope() == scope);
    let index = index.unwrap_or_else(|| {
        let mut registry = RegistryEntry::default();
        let field = if scope.starts_with("*.") { &mut registry.prefix } else { &mut registry.location };
        scope.clone_into(field);
        conf.registries.push(registry);
        conf.registries.len() - 1
    });
    &mut conf.registries[index]
}

fn mark_insecure(scope: &str, conf: &mut RegistriesConf) {
    for registry in &mut conf.registries {
        registry.is_insecure |= is_nested(registry.scope(), scope);
        for mirror in &mut registry.mirrors {
            mirror.is_insecure |= is_nested(&mirror.location, scope);
        }
    }
}

/// Gives the mirrors of a source to the entries in it that have none, because only the closest entry counts for an image.
fn share_mirrors(source: &str, conf: &mut RegistriesConf) {
    let Some(mirrored) = conf.registries.iter().find(|registry| registry.scope() == source).cloned() else {
        return;
    };
    let lacks = |registry: &&mut RegistryEntry| {
        registry.mirrors.is_empty() && registry.scope() != source && is_nested(registry.scope(), source)
    };
    for registry in conf.registries.iter_mut().filter(lacks) {
        let Some(rest) = registry.scope().strip_prefix(source).map(str::to_owned) else { continue };
        let nested = |mirror: &MirrorEntry| {
            let location = format!("{}{rest}", mirror.location);
            MirrorEntry { location, ..mirror.clone() }
        };
        registry.mirrors = mirrored.mirrors.iter().map(nested).collect();
        registry.mirrors_by_digest_only = mirrored.mirrors_by_digest_only;
    }
}
