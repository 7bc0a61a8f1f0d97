//! The content of a namespace in deletion: the deletions to make and the conditions to report.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::PODS;
use windtunnel_core::{DeleteOptions, Key, Object, Propagation, Resource, View, Write};

/// The estimated duration of finalizers.
const FINALIZERS_TAKE: SignedDuration = SignedDuration::from_secs(15);

/// The remaining objects of a namespace.
pub(super) struct Content<'v> {
    objects: Vec<(Key, &'v Object)>,
}

impl<'v> Content<'v> {
    /// Returns the objects of a namespace. While it has pods, returns only the pods, which are deleted first.
    pub(super) fn in_namespace(namespace: &str, view: &'v View) -> Self {
        let pods = view.list_in(&PODS, namespace).map(|pod| (PODS.key(namespace, pod.name()), pod));
        let pods: Vec<_> = pods.collect();
        let objects = if pods.is_empty() { view.objects_in(namespace).collect() } else { pods };
        Self { objects }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Deletions of all objects that are not terminating.
    pub(super) fn deletions(&self) -> Vec<Write> {
        let live = self.objects.iter().filter(|(_, object)| !object.is_terminating());
        live.map(|(key, object)| {
            let propagation = Some(Propagation::Background);
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            Write::delete_with(&Resource::from_object(key, object), &key.namespace, &key.name, options)
        })
        .collect()
    }

    /// The time to wait before the next check: half of the longest remaining grace period or of the estimate
    /// for finalizers.
    pub(super) fn pause(&self, now: Time) -> SignedDuration {
        let takes = |(key, object): &(Key, &Object)| {
            if key.is_kind(&PODS) {
                let ends = object.time("/metadata/deletionTimestamp").unwrap_or(now);
                ends.duration_since(now).max(SignedDuration::ZERO)
            } else {
                FINALIZERS_TAKE
            }
        };
        let longest = self.objects.iter().map(takes).max().unwrap_or_default();
        SignedDuration::from_secs(longest.as_secs() / 2 + 1)
    }

    /// The conditions of the namespace that report the progress of its deletion.
    pub(super) fn conditions(&self) -> [Condition; 5] {
        let condition = |kind: &str, is: bool, reason: &str, message: String| {
            Condition::new(kind, if is { "True" } else { "False" }, reason, message)
        };
        let (remaining, finalizers) = (self.remaining(), self.finalizers());
        [
            condition(
                "NamespaceDeletionDiscoveryFailure",
                false,
                "ResourcesDiscovered",
                "All resources successfully discovered".into(),
            ),
            condition(
                "NamespaceDeletionGroupVersionParsingFailure",
                false,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed".into(),
            ),
            condition(
                "NamespaceDeletionContentFailure",
                false,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization".into(),
            ),
            condition(
                "NamespaceContentRemaining",
                true,
                "SomeResourcesRemain",
                format!("Some resources are remaining: {remaining}"),
            ),
            if finalizers.is_empty() {
                let message = "All content-preserving finalizers finished";
                condition("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", message.into())
            } else {
                let message = format!("Some content in the namespace has finalizers remaining: {finalizers}");
                condition("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", message)
            },
        ]
    }

    fn remaining(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (key, _) in &self.objects {
            *counts.entry(format!("{}.{}", key.plural, key.group)).or_default() += 1;
        }
        list(counts.iter().map(|(kind, count)| format!("{kind} has {count} resource instances")))
    }

    fn finalizers(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, object) in &self.objects {
            for name in object.list("/metadata/finalizers") {
                *counts.entry(name.as_str().unwrap_or_default()).or_default() += 1;
            }
        }
        list(counts.iter().map(|(name, count)| format!("{name} in {count} resource instances")))
    }
}

fn list(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}
