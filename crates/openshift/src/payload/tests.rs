//! Tests of payload parsing: order, selection, templates and errors.

use serde_json::json;

use super::*;

const METADATA_TEXT: &str = r#"{"kind": "cincinnati-metadata-v0", "version": "4.18.9",
  "metadata": {"url": "https://example.com/e", "io.openshift.upgrades.graph.release.channels": "b-4.18,a-4.18"}}"#;
const IMAGES_TEXT: &str = r#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "4.18.9"},
  "spec": {"tags": [{"name": "hyperkube", "annotations": {"io.openshift.build.versions": "kubernetes=1.31.5"}}]}}"#;

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: ns}}\n")
}

fn parse(files: &[(&str, &str)]) -> Result<Payload, Vec<String>> {
    let own = [(METADATA, METADATA_TEXT), (IMAGES, IMAGES_TEXT)];
    let names: Vec<&str> =
        files.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or_default()).collect();
    let missing = own.iter().filter(|(name, _)| !names.contains(name));
    let files = files.iter().chain(missing).map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Payload::parse(files.collect(), "quay.io/r@sha256:1")
}

fn problem(files: &[(&str, &str)]) -> String {
    parse(files).unwrap_err().join("\n")
}

#[test]
fn own_manifests_come_first_and_each_folder_is_sorted_by_name() {
    let map = config_map("a");
    let files = [
        ("release-manifests/0000_03_config-operator_01.yaml", map.as_str()),
        ("manifests/0000_90_cluster-version-operator_02.yml", &map),
        ("manifests/0000_00_cluster-version-operator_01.yaml", &map),
        (
            "release-manifests/0000_03_a_1.json",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
        ),
        ("release-manifests/plain.yaml", &map),
        ("release-manifests/notes.txt", "no manifest"),
    ];
    let payload = parse(&files).unwrap();
    let order: Vec<(&str, &str)> =
        payload.manifests.iter().map(|m| (m.run_level.as_str(), m.component.as_str())).collect();
    let own = "cluster-version-operator";
    assert_eq!(order, [("00", own), ("90", own), ("03", "a"), ("03", "config-operator"), ("", "plain.yaml")]);
    assert_eq!(payload.channels, ["a-4.18", "b-4.18"]);
    assert_eq!((payload.url.as_str(), payload.kubernetes_minor), ("https://example.com/e", Some(31)));
}

#[test]
fn splits_streams_and_lists() {
    let text = format!("---\n{}---\n# nothing\n---\n{}", config_map("a"), config_map("b"));
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}]}"#;
    let payload = parse(&[("0000_10_a_1.yaml", text.as_str()), ("0000_10_a_2.json", list)]).unwrap();
    let names: Vec<&str> =
        payload.manifests.iter().map(|m| m.object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn expands_templates_only_in_own_manifests() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  image: '{{.ReleaseImage}}'\n  \
                profile: '{{- .ClusterProfile -}}'\n  alert: '{{ \"{{ $labels.version }}\" }}{{`}}`}}'\n";
    let payload = parse(&[("manifests/a.yaml", text), ("release-manifests/b.yaml", text)]).unwrap();
    let data = |index: usize| payload.manifests[index].object["data"].clone();
    assert_eq!(
        data(0),
        json!({ "image": "quay.io/r@sha256:1", "profile": "self-managed-high-availability",
                "alert": "{{ $labels.version }}}}" })
    );
    assert_eq!(data(1)["image"], "{{.ReleaseImage}}");
}

#[test]
fn reports_all_errors_with_file_line_and_column() {
    let files = [
        ("0000_10_a_1.yaml", "apiVersion: v1\nkind: [a\n"),
        ("0000_10_a_2.yaml", "kind: ConfigMap\n"),
        (
            "0000_10_a_3.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\napiVersion: v1\nkind: Secret\n",
        ),
        ("0000_10_a_4.json", "{\"a\": }"),
        ("0000_10_a_5.yaml", "- 1\n"),
        ("manifests/a.yaml", "a: 1\nb: {{ .Nothing }}\n"),
    ];
    assert_eq!(
        problem(&files),
        "manifests/a.yaml:2:4: expected `.ReleaseImage`, `.ClusterProfile`, `.Images` or a string constant, found `.Nothing`\n\
         0000_10_a_1.yaml:2:7: unclosed bracket '['\n\
         0000_10_a_2.yaml:1:1: expected `apiVersion` in this ConfigMap, found none\n\
         0000_10_a_3.yaml:6:1: expected `metadata.name` in this Secret, found none\n\
         0000_10_a_4.json:1:7: expected value\n\
         0000_10_a_5.yaml:1:1: expected a Kubernetes object (a map)"
    );
}

#[test]
fn metadata_files_must_exist_and_match() {
    let map = config_map("a");
    let manifest = ("0000_10_a_1.yaml", map.as_str());
    let none = Payload::parse(vec![("a.yaml".to_owned(), map.clone())], "").unwrap_err();
    assert_eq!(
        none,
        [
            "release-metadata: expected this file, found none",
            "image-references: expected this file, found none"
        ]
    );
    assert_eq!(
        problem(&[manifest, (METADATA, "{\n  \"kind\": \"x\",\n  \"version\": \"new\"}")]),
        "release-metadata:2:3: expected `cincinnati-metadata-v0` as `kind`, found `x`\n\
         release-metadata:3:3: expected a version such as `4.14.8` as `version`, found `new`"
    );
    let other = IMAGES_TEXT.replace("4.18.9", "4.18.8");
    assert_eq!(
        problem(&[manifest, (IMAGES, &other)]),
        "image-references:1:77: expected `4.18.9` as `metadata.name`, like the version in release-metadata, found `4.18.8`"
    );
    assert_eq!(problem(&[]), "expected manifests (*.yaml, *.yml or *.json), found none");
}

#[test]
fn annotations_select_the_manifests_of_a_cluster() {
    let check = |annotations: &str, selection: &Selection| {
        let object: Value =
            windtunnel_core::yaml::from_str(&format!("metadata: {{annotations: {annotations}}}")).unwrap();
        selection.includes(&object)
    };
    let profile = "include.release.openshift.io/self-managed-high-availability: 'true'";
    let with = |more: &str| format!("{{{profile}, release.openshift.io/{more}}}");
    let default = Selection { feature_set: String::new(), feature_gates: vec!["On".to_owned()], major: 4 };
    let preview = Selection { feature_set: "TechPreviewNoUpgrade".to_owned(), ..default.clone() };
    let five = Selection { major: 5, ..default.clone() };
    assert!(!check("null", &default), "without annotations");
    assert!(!check("{a: b}", &default), "another profile");
    assert!(check(&format!("{{{profile}}}"), &default));
    assert!(check(&with("feature-set: 'Default, CustomNoUpgrade'"), &default));
    assert!(!check(&with("feature-set: TechPreviewNoUpgrade"), &default));
    assert!(check(&with("feature-set: TechPreviewNoUpgrade"), &preview));
    for (gates, taken) in [
        ("On", true),
        ("-On", false),
        ("Off", false),
        ("-Off", true),
        ("'On,-Off'", true),
        ("'On,Off'", false),
    ] {
        assert_eq!(check(&with(&format!("feature-gate: {gates}")), &default), taken, "{gates}");
    }
    let both = format!(
        "{{{profile}, release.openshift.io/feature-set: Default, release.openshift.io/feature-gate: On}}"
    );
    assert!(!check(&both, &default), "both");
    assert!(check(&with("major-version: '4'"), &default) && !check(&with("major-version: '4'"), &five));
    assert!(check(&with("major-version: '4,5'"), &five) && !check(&with("major-version: '-5'"), &five));
}

#[test]
fn capabilities_of_a_manifest_are_joined_by_plus() {
    let object =
        json!({ "metadata": { "annotations": { "capability.openshift.io/name": "Console+Ingress" } } });
    assert_eq!(Manifest::new("a.yaml", object).capabilities(), ["Console", "Ingress"]);
}

#[test]
fn the_version_hash_uses_the_selected_manifests_in_go_json() {
    let taken = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: \
                 {include.release.openshift.io/self-managed-high-availability: \"true\"}\ndata: {rule: a < b && c > d}\n";
    let payload =
        parse(&[("0000_10_a_1.yaml", taken), ("0000_10_a_2.yaml", &config_map("left-out"))]).unwrap();
    assert_eq!(payload.version_hash(&Selection::default()), "vYFOJtqu1nw=");
}

#[test]
fn templates_with_unknown_fields_are_skipped_from_4_22_on() {
    let strange = config_map("a") + "data: {a: '{{ .ClusterName }}'}\n";
    let plain = config_map("b");
    let files = [("manifests/a.yaml", strange.as_str()), ("manifests/b.yaml", plain.as_str())];
    assert!(problem(&files).starts_with("manifests/a.yaml:4:12: expected"), "{}", problem(&files));
    let later = |text: &str| text.replace("4.18.9", "4.22.9");
    let (metadata, images) = (later(METADATA_TEXT), later(IMAGES_TEXT));
    let files = [files[0], files[1], (METADATA, metadata.as_str()), (IMAGES, images.as_str())];
    assert_eq!(parse(&files).unwrap().manifests.len(), 1);
}
