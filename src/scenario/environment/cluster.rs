//! `cluster` and `releases`: the initial cluster and the releases that exist in the run.

use semver::Version;
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_controllers::registry::{Contents, Image, OpenPgp, Signature, Workloads};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::manifests::is_preview;
use windtunnel_openshift::release::{Architecture, Release};

use super::images;
use super::nodes::Nodes;
use crate::plan::{
    ClusterPlan, FEATURE_SETS, Invariant, KUBERNETES_MINORS, PLATFORMS, PLATFORMS_WITH_REGION, Past, Plan,
    PlannedObject, Platform, ReleasePlan,
};
use crate::scenario::object;
use crate::scenario::reader::{Map, Reader};

pub(in crate::scenario) const KEYS: &[&str] = &[
    "version",
    "payload",
    "installed",
    "nodes",
    "platform",
    "architecture",
    "kubernetes",
    "feature-set",
    "channel",
    "baseline-capability-set",
    "additional-enabled-capabilities",
    "keyrings",
    "admin-acks",
    "insights",
    "objects",
    "without",
    START_FROM,
];

/// The key with the dump that replaces the cluster.
const START_FROM: &str = "start-from";

/// The values of `payload` that are not a folder.
const PAYLOADS: &[&str] =
    &["complete", "corrupt", "no-image-references", "other-image-references", "unreadable-metadata", "none"];

/// Returns the versions that exist in a run, the cluster's own last.
pub(in crate::scenario) fn versions(cluster: &ClusterPlan) -> Vec<Version> {
    let others = cluster.releases.iter().map(|plan| plan.release.version.clone());
    others.chain([cluster.release.version.clone()]).collect()
}

pub(in crate::scenario) fn read(
    reader: &mut Reader<'_>,
    cluster: Option<&Node>,
    releases: Option<&Node>,
) -> Option<ClusterPlan> {
    let releases = releases.map(|node| self::releases(reader, node)).unwrap_or_default();
    let map = reader.map(cluster?, "the cluster", KEYS)?;
    let version = map.required(reader, "version", "the release that it runs, such as `4.14.8`");
    let release = match (version, map.get("payload")) {
        (Some(version), Some(folder)) => reader.extracted(version, folder, PAYLOADS),
        (version, _) => version.and_then(|node| reader.release(node)),
    };
    let installed = map.get("installed").and_then(|node| reader.flag(node)).unwrap_or(true);
    let platform = map.get("platform").and_then(|node| platform(reader, node)).unwrap_or_default();
    let architecture = map.get("architecture").and_then(|node| reader.word(node, Architecture::NAMES));
    let architecture = architecture.and_then(Architecture::find).unwrap_or_default();
    reader.architecture = architecture;
    let nodes = Nodes::read(reader, map.get("nodes"), architecture);
    let kubernetes_minor = map.get("kubernetes").and_then(|node| kubernetes(reader, node));
    let feature_set = map.get("feature-set").and_then(|node| reader.word(node, FEATURE_SETS));
    let channel = map.get("channel").and_then(|node| channel(reader, node));
    let acknowledges_gates = map.get("admin-acks").and_then(|node| reader.flag(node)).unwrap_or(true);
    let keyrings = map.get("keyrings").map(|node| reader.texts(node, "the name of a keyring"));
    let objects = map.get("objects").map(|node| reader.list(node, "Kubernetes objects")).unwrap_or_default();
    let objects = objects.iter().filter_map(|node| {
        let object = object::parse_object(reader, node)?;
        Some(PlannedObject { place: Some((node.line, node.column)), object })
    });
    let objects = objects.collect();
    let without = map.get("without").map(|node| reader.texts(node, "the name of a component"));
    let without = without.unwrap_or_default().into_iter().collect();
    let insights = map.get("insights").and_then(|node| reader.flag(node)).unwrap_or(false);
    let release = release?;
    let mut releases = releases;
    add_common_releases(reader, &mut releases, &release);
    let (baseline, additional) = capabilities(reader, &map, &release, feature_set.unwrap_or_default());
    let default_channel = || format!("stable-{}.{}", release.version.major, release.version.minor);
    let for_architecture_of_cluster =
        |plan: ReleasePlan| ReleasePlan { release: plan.release.for_architecture(architecture), ..plan };
    Some(ClusterPlan {
        releases: releases.into_iter().map(for_architecture_of_cluster).collect(),
        workloads: Workloads::default(),
        metrics: Vec::new(),
        update_service: UpdateService::default(),
        installed,
        control_plane_nodes: nodes.control_plane,
        worker_nodes: nodes.workers,
        pools: nodes.pools,
        node_labels: nodes.labels,
        acknowledges_gates,
        node_architectures: nodes.architectures,
        node_leases: nodes.leases,
        payload_workloads: PayloadWorkloads::default(),
        platform,
        kubernetes_minor,
        feature_set: feature_set.unwrap_or_default().to_owned(),
        channel: channel.unwrap_or_else(default_channel),
        baseline_capability_set: baseline,
        additional_enabled_capabilities: additional,
        keyrings,
        insights,
        objects,
        past: Past::default(),
        without,
        programs: Vec::new(),
        invariants: Invariant::all(),
        shows_secrets: false,
        release: release.for_architecture(architecture),
    })
}

/// Replaces the cluster of a plan with the one of the dump that the scenario names.
pub(in crate::scenario) fn start_from(reader: &mut Reader<'_>, cluster: Option<&Node>, plan: &mut Plan) {
    let Some(node) = cluster.and_then(|cluster| cluster.get(START_FROM)) else { return };
    let map = match node.kind {
        Kind::Map(_) => reader.map(node, "a dump", &["dump", "ignore"]),
        _ => None,
    };
    let at = match (&map, &node.kind) {
        (Some(map), _) => map.required(reader, "dump", "the path of a dump"),
        (None, Kind::Map(_)) => None,
        (None, _) => Some(node),
    };
    let ignored = map.as_ref().and_then(|map| map.get("ignore"));
    let ignored = ignored.map(|node| reader.texts(node, "a kind such as `Pod`")).unwrap_or_default();
    if let Some(path) = at.and_then(|at| reader.text(at, "the path of a dump")) {
        reader.start_from(at.unwrap_or(node), &path, &ignored, plan);
    }
}

/// Parses a platform's name, or a map with its name and region.
fn platform(reader: &mut Reader<'_>, node: &Node) -> Option<Platform> {
    let map = match node.kind {
        Kind::Map(_) => Some(reader.map(node, "a platform", &["type", "region"])?),
        _ => None,
    };
    let at = match &map {
        Some(map) => map.required(reader, "type", "such as `AWS`")?,
        None => node,
    };
    let kind = reader.word(at, PLATFORMS)?.to_owned();
    let mut region = String::new();
    if let Some(at) = map.and_then(|map| map.get("region")) {
        region = reader.text(at, "a region such as `us-east-1`")?;
        if !PLATFORMS_WITH_REGION.contains(&kind.as_str()) {
            reader.error(at, format!("platform {kind} has no region"));
        }
    }
    Some(Platform { kind, region })
}

/// Parses a channel; the empty text means none.
fn channel(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    if node.scalar() == Some("") {
        return Some(String::new());
    }
    reader.text(node, "a channel such as `stable-4.14`, or `\"\"` for none")
}

/// Parses the minor of the kube-apiserver, such as `1.33`.
fn kubernetes(reader: &mut Reader<'_>, node: &Node) -> Option<u32> {
    let minor = node.scalar().and_then(|text| text.strip_prefix("1."));
    let minor = minor.and_then(|digits| digits.parse::<u32>().ok());
    let minor = minor.filter(|minor| KUBERNETES_MINORS.contains(minor));
    if minor.is_none() {
        let (oldest, newest) = (KUBERNETES_MINORS.start(), KUBERNETES_MINORS.end());
        let found = node.describe();
        reader.error(
            node,
            format!("expected a Kubernetes minor from \"1.{oldest}\" to \"1.{newest}\", found {found}"),
        );
    }
    minor
}

/// Parses `baseline-capability-set` and `additional-enabled-capabilities`; accepts those that the release has
/// with this feature set.
fn capabilities(
    reader: &mut Reader<'_>,
    map: &Map<'_>,
    release: &Release,
    feature_set: &str,
) -> (String, Vec<String>) {
    let mut known = |node: &Node, names: &[&str], what: &str| {
        let name = reader.text(node, what)?;
        if names.contains(&name.as_str()) {
            return Some(name);
        }
        let hint = did_you_mean(&name, names.iter().copied());
        let hint = if hint.is_empty() { format!("; it has `{}`", names.join("`, `")) } else { hint };
        let hint = if names.is_empty() { String::new() } else { hint };
        reader.error(node, format!("OpenShift {} has no {what} `{name}`{hint}", release.version));
        None
    };
    let sets: Vec<&str> = release.capability_sets.keys().map(String::as_str).collect();
    let baseline = map.get("baseline-capability-set").and_then(|node| known(node, &sets, "capability set"));
    let gated = if is_preview(feature_set) { &*release.preview_capabilities } else { &[] };
    let all: Vec<&str> = release.known_capabilities.iter().chain(gated).map(String::as_str).collect();
    let mut additional = Vec::new();
    if let Some(node) = map.get("additional-enabled-capabilities") {
        if let Kind::List(items) = &node.kind {
            additional.extend(items.iter().filter_map(|item| known(item, &all, "capability")));
        } else {
            reader.list(node, "capabilities");
        }
    }
    (baseline.unwrap_or_default(), additional)
}

/// Parses `releases`: those that exist in addition to the cluster's own.
fn releases(reader: &mut Reader<'_>, node: &Node) -> Vec<ReleasePlan> {
    let entries = reader.entries(node, "releases by version").unwrap_or_default();
    entries.iter().filter_map(|(version, facts)| release(reader, version, facts)).collect()
}

/// Adds the releases that exist in every scenario.
fn add_common_releases(reader: &Reader<'_>, releases: &mut Vec<ReleasePlan>, own: &Release) {
    for other in reader.releases_everywhere() {
        let has_version = |plan: &ReleasePlan| plan.release.version == other.version;
        if own.version != other.version && !releases.iter().any(has_version) {
            releases.push(ReleasePlan::plain(other));
        }
    }
}

fn release(reader: &mut Reader<'_>, version: &Node, facts: &Node) -> Option<ReleasePlan> {
    const RELEASE_KEYS: &[&str] = &[
        "recommended",
        "pull",
        "payload",
        "payload-version",
        "containers",
        "sigstore",
        "openpgp",
        "signature-stores",
        "signature-config-map",
    ];
    let map = match facts.kind {
        Kind::Null => None,
        _ => Some(reader.map(facts, "a release", RELEASE_KEYS)?),
    };
    let get = |key| map.as_ref().and_then(|map| map.get(key));
    let recommended = get("recommended").and_then(|node| reader.flag(node)).unwrap_or(true);
    let pull = images::pull(reader, get("pull"));
    let sigstore = get("sigstore").and_then(|node| reader.word(node, &Signature::NAMES));
    let sigstore = sigstore.and_then(Signature::named).unwrap_or_default();
    let payload = get("payload").and_then(|node| {
        let word = reader.text(node, "`complete`, `corrupt` or the folder of a payload")?;
        Some((node, word))
    });
    let contents = contents(payload.as_ref().map_or("", |(_, word)| word));
    let payload_version = get("payload-version").and_then(|node| reader.release(node));
    let release = match payload {
        Some((node, word)) if !PAYLOADS.contains(&word.as_str()) => reader.extracted(version, node, PAYLOADS),
        _ => reader.release(version),
    };
    let openpgp = openpgp(reader, get("openpgp"));
    let stores = get("signature-stores").map(|node| reader.texts(node, "the URL of a signature store"));
    let in_config_map = get("signature-config-map").and_then(|node| reader.flag(node));
    let containers = images::containers(reader, get("containers"));
    let signature_stores = stores.unwrap_or_default();
    let image = Image { pull, sigstore, openpgp, contents, containers, signature_stores, size: None };
    let signature_config_map = in_config_map.unwrap_or(false);
    let payload = payload_version.map(|other| other.version);
    Some(ReleasePlan {
        release: release?,
        payload_version: payload,
        recommended,
        image,
        signature_config_map,
    })
}

fn contents(word: &str) -> Contents {
    match word {
        "corrupt" => Contents::UnreadableManifest,
        "no-image-references" => Contents::NoImageReferences,
        "other-image-references" => Contents::OtherImageReferences,
        "unreadable-metadata" => Contents::UnreadableMetadata,
        "none" => Contents::NoPayload,
        _ => Contents::Payload,
    }
}

fn openpgp(reader: &mut Reader<'_>, node: Option<&Node>) -> OpenPgp {
    const WORDS: &[&str] = &["valid", "missing", "wrong-key", "unanswered"];
    match node.and_then(|node| reader.word(node, WORDS)) {
        Some("missing") => OpenPgp::Missing,
        Some("wrong-key") => OpenPgp::WrongKey,
        Some("unanswered") => OpenPgp::Unanswered,
        _ => OpenPgp::Valid,
    }
}
