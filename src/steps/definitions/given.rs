//! Given: the initial cluster and its releases.

use std::ops::RangeInclusive;

use cucumber::gherkin::LineCol;
use windtunnel_controllers::registry::{Containers, Contents, OpenPgp, Signature};
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::release::Architecture;

use super::definition::{Definition, Words, given, meaning, names};
use super::registry_faults::PULLS;
use crate::plan::{
    CONTROL_PLANE_NODES, FEATURE_SETS, Invariant, KUBERNETES_MINORS, Permission, PoolPlan, WORKER_NODES,
};
use crate::steps::phrase::labels;
use crate::steps::world::find_release;

const SIGSTORE: Words<Signature> = &[
    ("by another key", Signature::WrongKey),
    ("for another identity", Signature::WrongIdentity),
    ("expired", Signature::Expired),
];

const OPENPGP: Words<OpenPgp> = &[
    ("by another key", OpenPgp::WrongKey),
    ("only in a ConfigMap", OpenPgp::Missing),
    ("never answered", OpenPgp::Unanswered),
];

const CONTENTS: Words<Contents> = &[
    ("is corrupt", Contents::UnreadableManifest),
    ("is missing", Contents::NoPayload),
    ("has no image references", Contents::NoImageReferences),
    ("has image references of another version", Contents::OtherImageReferences),
    ("has unreadable metadata", Contents::UnreadableMetadata),
];

const CONTAINERS: Words<Containers> = &[
    ("crash", Containers::Crash),
    ("run out of memory", Containers::OutOfMemory),
    ("cannot be made", Containers::CannotBeCreated),
];

pub(in crate::steps) const STEPS: &[Definition] = &[
    given(
        r"an? (\d+\.\d+\.\S+) cluster",
        "An installed cluster with three control-plane nodes and three workers.",
        &["a 4.14.1 cluster"],
        |world, call| {
            let [version] = call.values();
            world.plan(&version).map(drop)
        },
    ),
    given(
        r"an? (\d+\.\d+\.\S+) cluster with (\d+) control-plane nodes? and (\d+) workers?",
        "An installed cluster with these numbers of nodes.",
        &["a 4.14.1 cluster with 3 control-plane nodes and 3 workers"],
        |world, call| {
            let [version, control_plane, workers] = call.values();
            let control_plane = within(&CONTROL_PLANE_NODES, &control_plane, "control-plane nodes")?;
            let workers = within(&WORKER_NODES, &workers, "workers")?;
            let plan = world.plan(&version)?;
            (plan.control_plane_nodes, plan.worker_nodes) = (control_plane, workers);
            Ok(())
        },
    ),
    given(
        r"a( paused)? pool (\S+) with (\d+) nodes?(?:, of which (\d+%?) may be unavailable)?",
        "A custom MachineConfigPool with nodes of its own, `infra-0` and so on, which have the roles of \
         workers and of the pool. It may be paused, and may let several nodes be unavailable at a time.",
        &[
            "a pool infra with 2 nodes",
            "a paused pool canary with 1 node",
            "a pool big with 6 nodes, of which 50% may be unavailable",
        ],
        |world, call| {
            let [paused, name, count, unavailable] = call.values();
            PoolPlan::problem_with_name(&name).map_or(Ok(()), Err)?;
            let count = within(&WORKER_NODES, &count, "nodes in a pool")?;
            let plan = world.planned()?;
            if plan.pools.iter().any(|pool| pool.name == name) {
                return Err(format!("the cluster has a pool {name} already"));
            }
            let max_unavailable = Some(unavailable).filter(|text| !text.is_empty());
            plan.pools.push(PoolPlan {
                paused: !paused.is_empty(),
                max_unavailable,
                ..PoolPlan::new(name, count)
            });
            Ok(())
        },
    ),
    given(
        r#"node (\S+) has the labels? "([^"]+)""#,
        "Labels of a node from the start, in addition to those of every node.",
        &[r#"node worker-0 has the labels "topology.kubernetes.io/zone=a, disk=ssd""#],
        |world, call| {
            let [node, text] = call.values();
            let own = labels(&text)?;
            let plan = world.planned()?;
            let names = plan.node_names();
            known(&node, names.iter().map(String::as_str), "node")?;
            plan.node_labels.entry(node).or_default().extend(own);
            Ok(())
        },
    ),
    given(
        r"the admin gates are not acknowledged",
        "The admin gates of releases are not acknowledged. In other clusters the administrator has \
         acknowledged those of all minors.",
        &["the admin gates are not acknowledged"],
        |world, _| {
            world.planned()?.acknowledges_gates = false;
            Ok(())
        },
    ),
    given(
        r#"the feature set "([^"]*)""#,
        "The feature set of the cluster. With `DevPreviewNoUpgrade` the update status controller runs.",
        &[r#"the feature set "DevPreviewNoUpgrade""#],
        |world, call| {
            let [name] = call.values();
            if !name.is_empty() {
                known(&name, FEATURE_SETS.iter().copied(), "feature set")?;
            }
            world.planned()?.feature_set = name;
            Ok(())
        },
    ),
    given(
        r"insights are published",
        "The update status controller runs and publishes from the start, with any feature set. A \
         Background may contain this step before the scenarios name their clusters.",
        &["insights are published"],
        |world, _| world.publish_insights(),
    ),
    given(
        r#"invariants((?: "[^"]*",?)*) are not checked"#,
        "Turns off the checks of the named invariants, or of all.",
        &["invariants are not checked", r#"invariants "node-order", "history-order" are not checked"#],
        |world, call| {
            let [names] = call.values();
            let plan = world.planned()?;
            if names.is_empty() {
                plan.invariants.clear();
            }
            for name in names.split('"').skip(1).step_by(2) {
                known(name, Invariant::ALL.into_iter().map(Invariant::name), "invariant")?;
                plan.invariants.retain(|invariant| invariant.name() != name);
            }
            Ok(())
        },
    ),
    given(
        r#"the architecture "([^"]*)""#,
        "The architecture of the cluster's machines, or `multi` for a multi-architecture release. Put \
         this step before those that name other releases.",
        &[r#"the architecture "arm64""#],
        |world, call| {
            let [name] = call.values();
            let architecture = Architecture::find(&name);
            known(&name, Architecture::NAMES.iter().copied(), "architecture")?;
            let release = &mut world.planned()?.release;
            *release = release.clone().for_architecture(architecture.unwrap_or_default());
            Ok(())
        },
    ),
    given(
        r"the kube-apiserver stays at Kubernetes 1\.(\d+)",
        "Pins the kube-apiserver at a Kubernetes minor, whatever release is installed.",
        &["the kube-apiserver stays at Kubernetes 1.33"],
        |world, call| {
            let [minor] = call.values();
            let minor = within(&KUBERNETES_MINORS, &minor, "as the minor of Kubernetes")?;
            world.planned()?.kubernetes_minor = Some(minor);
            Ok(())
        },
    ),
    given(
        r#"the baseline capability set "([^"]*)""#,
        "`spec.capabilities.baselineCapabilitySet` of ClusterVersion.",
        &[r#"the baseline capability set "v4.13""#],
        |world, call| {
            let [name] = call.values();
            let plan = world.planned()?;
            known(&name, plan.release.capability_sets.keys().map(String::as_str), "capability set")?;
            plan.baseline_capability_set = name;
            Ok(())
        },
    ),
    given(
        r#"the update channel "([^"]*)""#,
        "`spec.channel` of ClusterVersion.",
        &[r#"the update channel "stable-4.14""#],
        |world, call| {
            let [name] = call.values();
            world.planned()?.channel = name;
            Ok(())
        },
    ),
    given(
        r"release (\S+) exists",
        "A release that the update service recommends as an update.",
        &["release 4.14.8 exists"],
        |world, call| {
            let [version] = call.values();
            world.release(&version).map(drop)
        },
    ),
    given(
        r"release (\S+) exists but is not recommended",
        "A release that the update service does not offer; updates to its image are possible.",
        &["release 4.14.8 exists but is not recommended"],
        |world, call| {
            let [version] = call.values();
            world.release(&version)?.recommended = false;
            Ok(())
        },
    ),
    given(
        r"release (\S+) has no (Sigstore|OpenPGP) signature",
        "A release whose image has no signature of this kind.",
        &["release 4.20.3 has no Sigstore signature"],
        |world, call| {
            let [version, kind] = call.values();
            let release = world.release(&version)?;
            if kind == "Sigstore" {
                release.image.sigstore = Signature::Missing;
            } else {
                release.image.openpgp = OpenPgp::Missing;
            }
            Ok(())
        },
    ),
    given(
        r"the Sigstore signature of release (\S+) is {word}",
        "A release with a Sigstore signature that an image policy can reject.",
        &["the Sigstore signature of release 4.20.3 is by another key"],
        |world, call| {
            let [version, how] = call.values();
            world.release(&version)?.image.sigstore = meaning(SIGSTORE, &how)?;
            Ok(())
        },
    )
    .with_words(|| names(SIGSTORE)),
    given(
        r"the OpenPGP signature of release (\S+) is {word}",
        "A release whose OpenPGP signature is by another key, is only in a ConfigMap, or cannot be \
         downloaded because the signature stores never answer.",
        &["the OpenPGP signature of release 4.20.3 is only in a ConfigMap"],
        |world, call| {
            let [version, how] = call.values();
            let release = world.release(&version)?;
            release.signature_config_map = how == "only in a ConfigMap";
            release.image.openpgp = meaning(OPENPGP, &how)?;
            Ok(())
        },
    )
    .with_words(|| names(OPENPGP)),
    given(
        r"the payload of release (\S+) {word}",
        "A release whose image can be pulled, but whose payload cannot be loaded.",
        &["the payload of release 4.20.3 is corrupt"],
        |world, call| {
            let [version, how] = call.values();
            world.release(&version)?.image.contents = meaning(CONTENTS, &how)?;
            Ok(())
        },
    )
    .with_words(|| names(CONTENTS)),
    given(
        r"the payload of release (\S+) is of version (\S+)",
        "A release whose image contains the payload of another version.",
        &["the payload of release 4.20.3 is of version 4.20.4"],
        |world, call| {
            let [version, other] = call.values();
            let other = find_release(&other)?.version;
            world.release(&version)?.payload_version = Some(other);
            Ok(())
        },
    ),
    given(
        r"pulling release (\S+) {word}",
        "The registry's answer to pulls of a release's image.",
        &["pulling release 4.20.3 is unauthorized"],
        |world, call| {
            let [version, answer] = call.values();
            world.release(&version)?.image.pull = meaning(PULLS, &answer)?;
            Ok(())
        },
    )
    .with_words(|| names(PULLS)),
    given(
        r"the containers of release (\S+) {word}",
        "A failure of the containers that run a release's image.",
        &["the containers of release 4.20.3 cannot be made"],
        |world, call| {
            let [version, fate] = call.values();
            world.release(&version)?.image.containers = meaning(CONTAINERS, &fate)?;
            Ok(())
        },
    )
    .with_words(|| names(CONTAINERS)),
    given(
        r"this object:",
        "An object that exists from the start, as YAML in the doc string.",
        &["this object:"],
        |world, call| {
            let object = call.object(&mut world.kinds)?;
            world.add_object(&object)
        },
    ),
    given(
        r"these programs:",
        "Programs of this machine that take the place of containers, or run beside the cluster, as YAML \
         in the doc string: the list `programs` of a scenario. Paths are relative to the feature.",
        &["these programs:"],
        |world, call| {
            let mut programs = call.programs(&world.file)?;
            let LineCol { line, col: column } = call.position();
            for program in &mut programs {
                program.permission = Permission::Missing { line, column };
            }
            let known = &mut world.planned()?.programs;
            if let Some(twice) = programs.iter().find(|new| known.iter().any(|old| old.name == new.name)) {
                let name = &twice.name;
                return Err(format!("there is another program `{name}`; give this one a `name`"));
            }
            known.extend(programs);
            Ok(())
        },
    ),
];

/// Parses a number in a range.
fn within(allowed: &RangeInclusive<u32>, text: &str, what: &str) -> Result<u32, String> {
    let found = text.parse().ok().filter(|found| allowed.contains(found));
    found.ok_or_else(|| format!("expected {} to {} {what}, found {text}", allowed.start(), allowed.end()))
}

/// Returns an error if a name is not one of `names`.
pub(super) fn known<'a>(name: &str, names: impl Iterator<Item = &'a str>, what: &str) -> Result<(), String> {
    let names: Vec<&str> = names.collect();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, names.iter().copied());
    let hint = if hint.is_empty() { format!("; there are `{}`", names.join("`, `")) } else { hint };
    Err(format!("there is no {what} `{name}`{hint}"))
}
