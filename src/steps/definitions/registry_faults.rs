//! When: faults of releases, registries, webhooks and CustomResourceDefinitions.

use windtunnel_controllers::registry::{Containers, Contents, OpenPgp, Pull, Signature};
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_openshift::environment::ReleaseFault;

use super::definition::{Definition, Words, meaning, names, when};
use crate::plan::{CrdFault, FaultTarget, InjectedFault};
use crate::steps::world::find_release;

/// The results of pulls.
pub(super) const PULLS: Words<Pull> = &[
    ("is unauthorized", Pull::Unauthorized),
    ("finds no manifest", Pull::ManifestUnknown),
    ("finds another digest", Pull::WrongDigest),
    ("finds no registry", Pull::Unreachable),
    ("finds the registry unavailable", Pull::Unavailable),
    ("is slow", Pull::Slow),
    ("hangs", Pull::Hangs),
];

/// The end of a fault of pulls.
const AS_BEFORE: &str = "is as before";

const OF_RELEASES: Words<Option<ReleaseFault>> = &[
    ("loses its Sigstore signature", Some(ReleaseFault::Sigstore(Signature::Missing))),
    ("gets a Sigstore signature by another key", Some(ReleaseFault::Sigstore(Signature::WrongKey))),
    (
        "gets a Sigstore signature for another identity",
        Some(ReleaseFault::Sigstore(Signature::WrongIdentity)),
    ),
    ("gets an expired Sigstore signature", Some(ReleaseFault::Sigstore(Signature::Expired))),
    ("loses its OpenPGP signature", Some(ReleaseFault::OpenPgp(OpenPgp::Missing))),
    ("is signed by another key", Some(ReleaseFault::OpenPgp(OpenPgp::WrongKey))),
    ("gets no answer about its OpenPGP signature", Some(ReleaseFault::OpenPgp(OpenPgp::Unanswered))),
    ("becomes corrupt", Some(ReleaseFault::Contents(Contents::UnreadableManifest))),
    ("loses its image references", Some(ReleaseFault::Contents(Contents::NoImageReferences))),
    (
        "gets image references of another version",
        Some(ReleaseFault::Contents(Contents::OtherImageReferences)),
    ),
    ("gets unreadable metadata", Some(ReleaseFault::Contents(Contents::UnreadableMetadata))),
    ("loses its payload", Some(ReleaseFault::Contents(Contents::NoPayload))),
    ("has containers that crash", Some(ReleaseFault::Containers(Containers::Crash))),
    ("has containers that run out of memory", Some(ReleaseFault::Containers(Containers::OutOfMemory))),
    ("has containers that cannot be created", Some(ReleaseFault::Containers(Containers::CannotBeCreated))),
    ("recovers", None),
];

const OF_DEFINITIONS: Words<Option<CrdFault>> = &[
    ("has objects stored in another version", Some(CrdFault::StoredVersion)),
    ("finds its names taken", Some(CrdFault::NamesTaken)),
    ("recovers", None),
];

const WEBHOOK: &str = concat!(
    r"{at or change}(?:a|the) webhook for (create|update|patch|delete|write)s? of (?<kind>[^\s/]+)",
    r"(?:/(?<name>\S+))?(?: (status|scale))? is (unreachable|removed){for}",
);

pub(in crate::steps) const STEPS: &[Definition] = &[
    when(
        r"{at or change}pulling release (\S+) {word}{for}",
        "Changes the result of new pulls of a release, for a time or until `is as before`.",
        &[
            "pulling release 4.20.3 finds the registry unavailable for 20 minutes",
            "pulling release 4.20.3 is as before",
        ],
        |world, call| {
            let [version, answer] = call.values();
            let version = find_release(&version)?.version;
            let pull = if answer == AS_BEFORE { None } else { Some(meaning(PULLS, &answer)?) };
            let fault = pull.map(|pull| InjectedFault::Release(version.clone(), ReleaseFault::Pull(pull)));
            call.fault(&world.kinds, FaultTarget::Release(version), fault)
        },
    )
    .with_words(|| [names(PULLS), vec![AS_BEFORE]].concat()),
    when(
        r"{at or change}pulling from registry (\S+) {word}{for}",
        "Changes the result of new pulls from a registry, namespace or repository, such as a mirror, for a time or \
         until `is as before`.",
        &[
            "pulling from registry mirror.example.com finds no registry for 20 minutes",
            "pulling from registry mirror.example.com/ocp finds no manifest",
            "pulling from registry mirror.example.com/ocp is as before",
        ],
        |world, call| {
            let [name, answer] = call.values();
            let pull = if answer == AS_BEFORE { None } else { Some(meaning(PULLS, &answer)?) };
            let fault = pull.map(|pull| InjectedFault::Registry(name.clone(), pull));
            call.fault(&world.kinds, FaultTarget::Registry(name), fault)
        },
    )
    .with_words(|| [names(PULLS), vec![AS_BEFORE]].concat()),
    when(
        r"{at or change}release (\S+) {word}{for}",
        "Breaks the image or the signatures of a release, for a time or until it recovers. Pulls in \
         progress and images that the cluster has already are not affected.",
        &[
            "release 4.20.3 loses its OpenPGP signature",
            "release 4.20.3 becomes corrupt for 20 minutes",
            "release 4.20.3 recovers",
        ],
        |world, call| {
            let [version, how] = call.values();
            let version = find_release(&version)?.version;
            let fault = meaning(OF_RELEASES, &how)?;
            let fault = fault.map(|fault| InjectedFault::Release(version.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Release(version), fault)
        },
    )
    .with_words(|| names(OF_RELEASES)),
    when(
        WEBHOOK,
        "Adds an admission webhook that covers these writes and does not answer, for a time or until it \
         is removed.",
        &[
            "a webhook for updates of ClusterOperator/dns status is unreachable",
            "a webhook for writes of Deployment is unreachable for 30 minutes",
            "the webhook for updates of ClusterOperator/dns status is removed",
        ],
        |world, call| {
            let [verb, subresource, how] = call.values();
            let subresource = Some(subresource).filter(|subresource| !subresource.is_empty());
            let writes = RequestFilter { subresource, ..call.requests(&world.kinds, &verb)? };
            let fault = (how == "unreachable").then(|| InjectedFault::Webhook(writes.clone()));
            call.fault(&world.kinds, FaultTarget::Webhook(writes), fault)
        },
    ),
    when(
        r"{at or change}CustomResourceDefinition (\S+) {word}{for}",
        "Makes a CustomResourceDefinition conflict with another one. Either its objects were stored in a \
         version that no release has, so that it cannot be changed; or another definition uses its names, \
         so that the new definition is not accepted.",
        &[
            "CustomResourceDefinition clusterversions.config.openshift.io has objects stored in another version",
            "CustomResourceDefinition backups.config.openshift.io finds its names taken for 1 hour",
            "CustomResourceDefinition backups.config.openshift.io recovers",
        ],
        |world, call| {
            let [name, how] = call.values();
            let fault = meaning(OF_DEFINITIONS, &how)?;
            let fault = fault.map(|fault| InjectedFault::Crd(name.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Crd(name), fault)
        },
    )
    .with_words(|| names(OF_DEFINITIONS)),
];
