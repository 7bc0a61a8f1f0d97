//! Tests of the release facts.

use std::collections::BTreeSet;

use super::*;

fn release(version: &str) -> Release {
    Release::find(&version.parse().unwrap()).unwrap()
}

/// A release of each known minor.
fn all() -> impl Iterator<Item = Release> {
    Release::lines().map(|(major, minor)| release(&format!("{major}.{minor}.9")))
}

fn total(release: &Release) -> u64 {
    let modelled = |c: &Component| c.crds.len() as u64 + if c.operator.is_some() { 2 } else { 0 };
    let cluster_version_operator = 1; // its Deployment
    release.components.iter().map(|c| u64::from(c.manifests) + modelled(c)).sum::<u64>()
        + cluster_version_operator
}

#[test]
fn each_minor_has_its_capabilities() {
    for (minor, count) in [
        (10, 0),
        (11, 3),
        (12, 7),
        (13, 8),
        (14, 12),
        (15, 14),
        (16, 16),
        (17, 16),
        (18, 17),
        (19, 17),
        (20, 17),
    ] {
        let release = release(&format!("4.{minor}.0"));
        assert_eq!(release.known_capabilities.len(), count, "4.{minor}");
        assert!(release.known_capabilities.is_sorted());
        assert_eq!(release.kubernetes_minor, minor + 13);
        let set = |name: &str| release.capability_sets.get(name);
        assert_eq!(set("vCurrent"), Some(&release.known_capabilities).filter(|_| count > 0));
        assert_eq!(set("None"), Some(&Vec::new()).filter(|_| count > 0));
    }
}

#[test]
fn older_sets_gained_machine_api_in_4_14_and_the_last_set_is_v4_18() {
    let machines =
        |version: &str, set: &str| release(version).capability_sets[set].contains(&"MachineAPI".to_owned());
    assert!(!machines("4.13.1", "v4.13"));
    for set in ["v4.11", "v4.12", "v4.13", "v4.14"] {
        assert!(machines("4.14.1", set), "{set}");
    }
    let sets: Vec<String> = release("4.20.0").capability_sets.into_keys().collect();
    assert_eq!(sets.last().unwrap(), "vCurrent");
    assert_eq!(sets[sets.len() - 2], "v4.18");
    let newest = release("4.17.0").capability_sets;
    assert_eq!(newest["v4.17"], newest["v4.16"]);
}

#[test]
fn the_clusterversion_schema_has_exactly_these_capabilities_and_sets() {
    for release in all() {
        let crd = crate::manifests::crd("clusterversions.config.openshift.io", release.line()).unwrap();
        let at = |pointer: &str| -> BTreeSet<String> {
            let path = format!("/spec/versions/0/schema/openAPIV3Schema/properties{pointer}/enum");
            crd.pointer(&path).map(|list| serde_json::from_value(list.clone()).unwrap()).unwrap_or_default()
        };
        let known = at("/status/properties/capabilities/properties/knownCapabilities/items");
        assert!(known.iter().eq(&release.known_capabilities), "{:?}", release.line());
        let name = "clusterversions.config.openshift.io";
        let with_previews = crate::manifests::crd_with(name, release.line(), "TechPreviewNoUpgrade").unwrap();
        let path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/capabilities/properties/enabledCapabilities/items/enum";
        let gated: BTreeSet<String> = with_previews
            .pointer(path)
            .map(|list| serde_json::from_value(list.clone()).unwrap())
            .unwrap_or_default();
        assert!(gated.difference(&known).eq(&release.preview_capabilities), "{:?}", release.line());
        let sets = at("/spec/properties/capabilities/properties/baselineCapabilitySet");
        assert!(sets.iter().eq(release.capability_sets.keys()), "{:?}", release.line());
    }
}

#[test]
fn components_are_sorted_and_require_only_known_capabilities() {
    for release in all() {
        let order: Vec<_> = release.components.iter().map(|c| (c.run_level, c.name.clone())).collect();
        assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "sorted, each once");
        assert_eq!(order[0], (0, "cluster-version-operator".to_owned()));
        let required: BTreeSet<&String> = release.components.iter().flat_map(|c| &c.capabilities).collect();
        assert!(required.iter().all(|name| release.known_capabilities.contains(name)));
        assert_eq!(
            required.len(),
            release.known_capabilities.len(),
            "{:?}: each is required",
            release.line()
        );
        let shipped: BTreeSet<&String> = release.components.iter().flat_map(|c| &c.crds).collect();
        let crds = crate::manifests::crds(release.line());
        assert!(crds.map(|crd| &crd["metadata"]["name"]).eq(shipped), "{:?}", release.line());
    }
}

#[test]
fn objects_of_components_exist_and_are_included_in_the_number_of_manifests() {
    let all: Vec<_> = all().collect();
    let components =
        all.iter().flat_map(|release| release.components.iter().map(|one| (release.line(), one)));
    for (line, component) in components {
        let found = component.objects.iter().map(|name| crate::manifests::payload(name, line).len());
        assert!(found.clone().all(|count| count > 0), "{:?}", component.objects);
        assert!(found.sum::<usize>() <= component.manifests as usize, "{}", component.name);
    }
}

#[test]
fn operators_match_the_real_payloads() {
    for (version, count) in [
        ("4.10.1", 32),
        ("4.11.1", 32),
        ("4.12.1", 33),
        ("4.13.1", 33),
        ("4.14.1", 33),
        ("4.17.1", 33),
        ("4.18.1", 34),
    ] {
        let release = release(version);
        let operators: BTreeSet<&str> = release
            .components
            .iter()
            .filter_map(|component| component.operator.as_ref())
            .map(|operator| operator.cluster_operator.as_str())
            .collect();
        assert_eq!(operators.len(), count, "{version}");
        assert_eq!(operators.contains("olm"), version == "4.18.1");
    }
}

#[test]
fn payloads_have_the_size_of_real_ones() {
    for (version, size) in
        [("4.10.35", 773), ("4.14.1", 859), ("4.15.0", 863), ("4.17.0", 892), ("4.18.0", 890)]
    {
        assert_eq!(total(&release(version)), size, "{version}");
    }
    for release in all().filter(|release| release.line() > (4, 10)) {
        assert!((820..=920).contains(&total(&release)), "{:?}: {}", release.line(), total(&release));
    }
}

#[test]
fn rollouts_of_all_run_levels_take_about_an_hour() {
    for release in all() {
        let mut levels: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
        for component in release.components.iter() {
            if let Some(operator) = &component.operator {
                let (shortest, longest) = operator.rollout_seconds;
                assert!(shortest <= longest && shortest > 0, "{}", component.name);
                let level = levels.entry(component.run_level).or_default();
                *level = (level.0.max(shortest), level.1.max(longest));
            }
        }
        let sum = |pick: fn(&(u64, u64)) -> u64| levels.values().map(pick).sum::<u64>() / 60;
        assert!(sum(|level| level.0) >= 44, "{}", sum(|level| level.0));
        assert!(sum(|level| level.1) <= 75, "{}", sum(|level| level.1));
    }
}

#[test]
fn a_release_always_has_the_same_image_and_advisory() {
    let release = release("4.14.8");
    assert_eq!(release.line(), (4, 14));
    assert_eq!(
        release.image,
        "quay.io/openshift-release-dev/ocp-release@sha256:\
         52ac7eecedcb6eb3455834fce8b37a71b93522d5edbad5dadc2b04e79e4a0cb0"
    );
    assert_eq!(release.url, "https://access.redhat.com/errata/RHSA-2023:4164");
    assert_eq!(release.channels, ["candidate-4.14", "eus-4.14", "fast-4.14", "stable-4.14"]);
    assert_eq!(super::channels((4, 15)), ["candidate-4.15", "fast-4.15", "stable-4.15"]);
}

#[test]
fn rejects_an_unknown_version_with_the_known_minors() {
    let error = |version: &str| Release::find(&version.parse().unwrap()).unwrap_err().to_string();
    let known = "4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, 4.21, 4.22, 5.0";
    assert_eq!(
        error("4.31.2"),
        format!("unknown release 4.31.2: known minors are {known}; did you mean `4.13.2`?")
    );
    assert!(error("5.14.0").ends_with("did you mean `4.14.0`?"), "{}", error("5.14.0"));
}

#[test]
fn nodes_run_the_kernel_of_their_rhel() {
    let kernel = |version: &str, machine: &str| release(version).kernel_version(machine);
    for (version, machine, start, end) in [
        ("4.12.1", "amd64", "4.18.0-372.", ".1.el8_6.x86_64"),
        ("4.14.8", "arm64", "5.14.0-284.", ".1.el9_2.aarch64"),
        ("4.18.3", "s390x", "5.14.0-427.", ".1.el9_4.s390x"),
        ("4.20.1", "amd64", "5.14.0-570.", ".1.el9_6.x86_64"),
    ] {
        let kernel = kernel(version, machine);
        assert!(kernel.starts_with(start) && kernel.ends_with(end), "{version}: {kernel}");
    }
    assert_ne!(kernel("4.18.3", "amd64"), kernel("4.18.7", "amd64"));
}

#[test]
fn a_payload_is_completed_with_the_facts_of_the_nearest_minor() {
    for (version, line) in
        [("4.14.8", (4, 14)), ("5.1.0", (5, 0)), ("4.99.0", (4, 22)), ("9.0.0", (5, 0)), ("4.2.1", (4, 10))]
    {
        let version: Version = version.parse().unwrap();
        assert_eq!(Release::line_of_facts(&version), line, "{version}");
        let nearest = Release::nearest(&version);
        assert_eq!(nearest.version, version);
        assert_eq!(nearest.components, release(&format!("{}.{}.0", line.0, line.1)).components);
    }
}
