//! Tests of the files for the registries of nodes.

use serde_json::json;
use windtunnel_controllers::registries_conf::RegistryEntry;
use windtunnel_core::{Change, ChangeKind};

use super::*;

const PAYLOAD: &str = "quay.io/openshift-release-dev/ocp-release@sha256:00";

type Planned = (Resource, &'static str, Value);

fn view(objects: &[Planned]) -> View {
    let mut view = View::default();
    for (resource, name, spec) in objects {
        let object = Object::new(json!({ "metadata": { "name": name }, "spec": spec }));
        let key = resource.key("", name);
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
    }
    view
}

fn digests(name: &'static str, sets: &Value) -> Planned {
    (IMAGE_DIGEST_MIRROR_SETS, name, json!({ "imageDigestMirrors": sets }))
}

fn tags(sets: &Value) -> Planned {
    (IMAGE_TAG_MIRROR_SETS, "tags", json!({ "imageTagMirrors": sets }))
}

fn image(sources: &Value) -> Planned {
    (IMAGE_SETTINGS, "cluster", json!({ "registrySources": sources }))
}

fn from(mirrors: &[&str]) -> Value {
    json!([{ "source": "r.com", "mirrors": mirrors }])
}

/// The text of a file of a minor; empty without one.
fn text_of(objects: &[Planned], path: &str, line: MajorMinor) -> String {
    let files = files(&view(objects), line, PAYLOAD).unwrap();
    let contents = files.iter().find(|file| file["path"] == path).and_then(ignition::contents);
    String::from_utf8(contents.unwrap_or_default()).unwrap()
}

fn text(objects: &[Planned], path: &str) -> String {
    text_of(objects, path, (4, 18))
}

/// Each entry as `scope: flags mirrors`.
fn entries(objects: &[Planned]) -> Vec<String> {
    let entry = |registry: &RegistryEntry| {
        let mirrors = registry.mirrors.iter().map(|mirror| {
            let insecure = if mirror.is_insecure { "!" } else { "" };
            format!(" {}{insecure}({})", mirror.location, mirror.pull_from_mirror)
        });
        let flags = [(registry.is_blocked, " blocked"), (registry.is_insecure, " insecure")];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name);
        format!("{}:{}{}", registry.scope(), flags.collect::<String>(), mirrors.collect::<String>())
    };
    RegistriesConf::parse(&text(objects, PATH)).unwrap().registries.iter().map(entry).collect()
}

fn error(objects: &[Planned]) -> String {
    files(&view(objects), (4, 18), PAYLOAD).unwrap_err()
}

#[test]
fn a_cluster_without_settings_has_no_files() {
    assert_eq!(files(&View::default(), (4, 18), PAYLOAD), Ok(Vec::new()));
    assert_eq!(files(&view(&[image(&json!({}))]), (4, 18), PAYLOAD), Ok(Vec::new()));
}

#[test]
fn the_file_has_the_real_format() {
    let set =
        json!([{ "source": "r.com/a", "mirrors": ["m.com/a"], "mirrorSourcePolicy": "NeverContactSource" }]);
    let expected = "unqualified-search-registries = [\"registry.access.redhat.com\", \"docker.io\"]\n\
        short-name-mode = \"\"\n\n[[registry]]\n  prefix = \"\"\n  location = \"r.com/a\"\n  blocked = true\n\n  \
        [[registry.mirror]]\n    location = \"m.com/a\"\n    pull-from-mirror = \"digest-only\"\n";
    assert_eq!(text(&[digests("a", &set)], PATH), expected);
}

#[test]
fn older_controllers_restrict_the_registry_and_not_each_mirror() {
    let policy =
        [(IMAGE_CONTENT_SOURCE_POLICIES, "a", json!({ "repositoryDigestMirrors": from(&["m.com"]) }))];
    let conf = |line| RegistriesConf::parse(&text_of(&policy, PATH, line)).unwrap();
    let (old, new) = (conf((4, 12)), conf((4, 13)));
    assert!(old.registries[0].mirrors_by_digest_only && !new.registries[0].mirrors_by_digest_only);
    assert_eq!(old.registries[0].mirrors[0].pull_from_mirror, "");
    assert_eq!(new.registries[0].mirrors[0].pull_from_mirror, "digest-only");
}

#[test]
fn sets_of_all_objects_are_merged_by_source_in_an_order_that_respects_each() {
    let policy = json!({ "repositoryDigestMirrors": from(&["c", "r.com", "d"]) });
    let found = entries(&[
        digests("a", &from(&["b", "c"])),
        digests("b", &from(&["a", "b"])),
        tags(&json!([{ "source": "r.com", "mirrors": ["t"] }, { "source": "*.x.com", "mirrors": ["t"] }])),
        (IMAGE_CONTENT_SOURCE_POLICIES, "c", policy),
    ]);
    let all =
        "r.com: a(digest-only) b(digest-only) c(digest-only) r.com(digest-only) d(digest-only) t(tag-only)";
    assert_eq!(found, [all, "*.x.com: t(tag-only)"]);
    let cycle = [digests("a", &from(&["b", "a"])), digests("b", &from(&["a", "b"]))];
    assert_eq!(entries(&cycle), ["r.com: a(digest-only) b(digest-only)"]);
    assert!(entries(&[digests("a", &from(&["r.com"]))]).is_empty());
}

#[test]
fn flags_and_mirrors_reach_the_entries_in_a_scope() {
    let sources = json!({ "blockedRegistries": ["r.com/a/b"], "insecureRegistries": ["*.m.com", "r.com"] });
    let set = json!([{ "source": "r.com/a", "mirrors": ["x.m.com/y"] }]);
    assert_eq!(
        entries(&[image(&sources), digests("a", &set)]),
        [
            "r.com/a: insecure x.m.com/y!(digest-only)",
            "r.com/a/b: blocked insecure x.m.com/y/b!(digest-only)",
            "*.m.com: insecure",
            "r.com: insecure",
        ]
    );
}

#[test]
fn the_payload_can_be_blocked_only_with_a_mirror() {
    let sources = || image(&json!({ "blockedRegistries": ["quay.io", "b.com"] }));
    assert_eq!(entries(&[sources()]), ["b.com: blocked"]);
    let set = |mirror: &str| json!([{ "source": "quay.io/openshift-release-dev/ocp-release", "mirrors": [mirror] }]);
    assert_eq!(
        entries(&[sources(), digests("a", &set("m.com/x"))]),
        [
            "quay.io/openshift-release-dev/ocp-release: blocked m.com/x(digest-only)",
            "quay.io: blocked",
            "b.com: blocked",
        ]
    );
    let found = entries(&[sources(), digests("a", &set("b.com/x"))]);
    assert_eq!(found, ["quay.io/openshift-release-dev/ocp-release: b.com/x(digest-only)", "b.com: blocked"]);
}

#[test]
fn allowed_and_blocked_registries_become_a_policy_and_searched_ones_a_file() {
    let policy =
        |sources: Value| -> Value { serde_json::from_str(&text(&[image(&sources)], policy::PATH)).unwrap() };
    let allowed = policy(json!({ "allowedRegistries": ["a.com", "a.com/b/c/d"] }));
    assert_eq!(allowed["default"][0]["type"], "reject");
    assert_eq!(allowed["transports"]["docker"]["a.com"][0]["type"], "insecureAcceptAnything");
    assert_eq!(allowed["transports"]["atomic"].as_object().unwrap().len(), 1);
    let blocked = policy(json!({ "blockedRegistries": ["a.com"] }));
    assert_eq!(blocked["default"][0]["type"], "insecureAcceptAnything");
    assert_eq!(blocked["transports"]["docker"]["a.com"][0]["type"], "reject");
    let searched = text(&[image(&json!({ "containerRuntimeSearchRegistries": ["s.com"] }))], SEARCH_PATH);
    assert_eq!(searched, "unqualified-search-registries = [\"s.com\"]\nshort-name-mode = \"\"\n");
}

#[test]
fn sets_that_contradict_each_other_change_nothing() {
    let set = |mirrors: &[&str]| json!([{ "source": "r.com", "mirrors": mirrors, "mirrorSourcePolicy": "NeverContactSource" }]);
    let found = error(&[digests("a", &set(&["m"])), tags(&from(&["m"]))]);
    assert!(found.contains("conflicting mirrorSourcePolicy"), "{found}");
    assert!(error(&[digests("a", &set(&["r.com", "m"]))]).contains("is one of the mirrors"));
    let policy = json!({ "repositoryDigestMirrors": [{ "source": "r.com/A", "mirrors": ["m"] }] });
    assert_eq!(
        error(&[(IMAGE_CONTENT_SOURCE_POLICIES, "a", policy)]),
        "could not update registries config with new changes: invalid format for source \"r.com/A\""
    );
    let both = image(&json!({ "allowedRegistries": ["a"], "blockedRegistries": ["b"] }));
    assert!(error(&[both]).ends_with("only one of AllowedRegistries or BlockedRegistries may be specified"));
}
