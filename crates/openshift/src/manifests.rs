//! The Kubernetes YAML in the binary: schemas by release, and objects by folder.
//!
//! `manifests/crds/<plural>.<group>/` contains one CRD. Its first file is the whole definition (`base.yaml`,
//! or the minor that introduced it). Each later `<major>.<minor>.yaml` is an RFC 6902 patch with the changes
//! of that minor. Additions behind feature gates are below it: in `tech-preview/` those of technology previews,
//! in `dev-preview/` those that only developer previews have. Each file there patches the definition of its
//! minor and later ones. A file for a minor before the first definition turns that definition into the preview
//! of that minor. A custom feature set has all of them. `manifests/crds/descriptions.yaml` describes the fields of all
//! definitions.
//!
//! `manifests/payload/` contains objects of components. `manifests/releases/` assigns them to components and
//! minors. An object that changes often has a folder there like a CRD: its first file is the object, each later file a
//! patch with the changes of that minor.
//!
//! `manifests/operands.yaml` describes the workloads that operators create.
//!
//! The files are trusted like code: an invalid one is a bug, found by a test that loads all of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use include_dir::{Dir, File, include_dir};
use serde_json::Value;
use windtunnel_core::yaml;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/manifests");

/// Major and minor of a release: `(4, 14)`.
pub type MajorMinor = (u64, u64);

/// Each CRD's definitions by their first minor.
static CRDS: LazyLock<BTreeMap<String, BTreeMap<MajorMinor, Arc<Value>>>> = LazyLock::new(|| {
    folder("crds")
        .dirs()
        .map(|dir| {
            let name = dir.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let files =
                dir.files().map(|file| (line_of(file).unwrap_or_default(), only_document(file))).collect();
            let definitions = definitions(&name, files);
            (name, definitions)
        })
        .collect()
});

/// Additions to CRDs by the CRD's name and their first minor.
type Additions = BTreeMap<String, BTreeMap<MajorMinor, Value>>;

/// The additions to each CRD in technology previews.
static TECH_PREVIEW: LazyLock<Additions> = LazyLock::new(|| additions("tech-preview"));
/// The further additions to each CRD in developer previews.
static DEV_PREVIEW: LazyLock<Additions> = LazyLock::new(|| additions("dev-preview"));

fn additions(folder_name: &str) -> Additions {
    let gated = folder("crds").dirs().filter_map(|dir| {
        let name = dir.path().file_name()?.to_string_lossy().into_owned();
        let gated = dir.get_dir(dir.path().join(folder_name))?;
        let files = gated.files().filter_map(|file| Some((line_of(file)?, only_document(file)))).collect();
        Some((name, files))
    });
    gated.collect()
}

/// The feature set with the gates that an administrator lists.
const CUSTOM: &str = "CustomNoUpgrade";
/// Feature sets that enable gated features.
const PREVIEWS: [&str; 2] = ["TechPreviewNoUpgrade", "DevPreviewNoUpgrade"];

/// Returns whether a feature set enables gated features.
pub fn is_preview(feature_set: &str) -> bool {
    PREVIEWS.contains(&feature_set)
}

/// Returns whether a manifest is behind a feature gate.
pub fn is_gated(object: &Value) -> bool {
    !object["metadata"]["annotations"]["release.openshift.io/feature-gate"].is_null()
}

/// The documents of each folder with plain objects.
static OBJECTS: LazyLock<BTreeMap<String, Vec<Value>>> = LazyLock::new(|| {
    let name = |dir: &Dir<'_>| dir.path().to_string_lossy().into_owned();
    FILES.dirs().map(|dir| (name(dir), documents_in(dir))).collect()
});

/// The documents of each file and folder in `manifests/payload/`, by name and first minor.
static PAYLOAD: LazyLock<BTreeMap<String, BTreeMap<MajorMinor, Vec<Value>>>> = LazyLock::new(|| {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let always = |documents| BTreeMap::from([(MajorMinor::default(), documents)]);
    let files = folder("payload").files().map(|file| (stem(file.path()), always(documents(file))));
    files.chain(folder("payload").dirs().map(|dir| (stem(dir.path()), versions(dir)))).collect()
});

/// The versions of the object in a folder, by their first minor.
fn versions(dir: &Dir<'_>) -> BTreeMap<MajorMinor, Vec<Value>> {
    let files: BTreeMap<_, _> =
        dir.files().filter_map(|file| Some((line_of(file)?, only_document(file)))).collect();
    let mut object: Option<Value> = None;
    let mut found = BTreeMap::new();
    for (line, file) in files {
        match &mut object {
            None => object = Some(file),
            Some(object) => patch(object, file, &format!("{}/{}.{}", dir.path().display(), line.0, line.1)),
        }
        found.insert(line, object.iter().cloned().collect());
    }
    found
}

/// The definitions of a CRD by minor. Its first file is the definition, each later file a patch of the
/// previous one.
fn definitions(name: &str, files: BTreeMap<MajorMinor, Value>) -> BTreeMap<MajorMinor, Arc<Value>> {
    let mut definition = Value::Null;
    let mut found = BTreeMap::new();
    for (line, file) in files {
        if definition.is_null() {
            definition = file;
        } else {
            patch(&mut definition, file, &format!("crds/{name}/{}.{}", line.0, line.1));
        }
        let mut described = definition.clone();
        describe(&mut described, name);
        found.insert(line, Arc::new(described));
    }
    found
}

/// Descriptions of fields by the name of the CRD and the path of the field.
type Descriptions = BTreeMap<String, BTreeMap<String, String>>;

static DESCRIPTIONS: LazyLock<Descriptions> = LazyLock::new(|| {
    let file =
        folder("crds").get_file("crds/descriptions.yaml").and_then(File::contents_utf8).unwrap_or_default();
    yaml::from_str(file).unwrap_or_else(|error| panic!("manifests/crds/descriptions.yaml:{error}"))
});

/// Adds the descriptions of a CRD to the schemas of its versions.
fn describe(definition: &mut Value, name: &str) {
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    let schemas =
        versions.into_iter().flatten().filter_map(|version| version.pointer_mut("/schema/openAPIV3Schema"));
    for schema in schemas {
        for (path, text) in DESCRIPTIONS.get(name).into_iter().flatten() {
            if let Some(field) = field_at(schema, path) {
                field["description"] = Value::from(text.as_str());
            }
        }
    }
}

/// The schema of the field at a path, such as `status.history.state`.
fn field_at<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Value> {
    path.split('.').filter(|name| !name.is_empty()).try_fold(schema, |schema, name| {
        let items = schema.get("items").is_some();
        let schema = if items { schema.get_mut("items")? } else { schema };
        schema.get_mut("properties")?.get_mut(name)
    })
}

fn patch(definition: &mut Value, file: Value, place: &str) {
    let operations: json_patch::Patch =
        serde_json::from_value(file).unwrap_or_else(|error| panic!("manifests/{place}.yaml: {error}"));
    json_patch::patch(definition, &operations)
        .unwrap_or_else(|error| panic!("manifests/{place}.yaml: {error}"));
}

/// The CRD with this name, such as `clusterversions.config.openshift.io`, as a release of `line` has it with
/// the default feature set. `None` if that release has no such CRD.
pub fn crd(name: &str, line: MajorMinor) -> Option<&'static Value> {
    plain(name, line).map(|definition| &**definition)
}

/// The oldest minor with definitions. Older releases have its definitions.
static OLDEST: LazyLock<MajorMinor> = LazyLock::new(|| {
    let first = CRDS.values().filter_map(|lines| lines.first_key_value().map(|(line, _)| *line));
    first.min().unwrap_or_default()
});

fn plain(name: &str, line: MajorMinor) -> Option<&'static Arc<Value>> {
    let line = line.max(*OLDEST);
    CRDS.get(name)?.range(..=line).next_back().map(|(_, definition)| definition)
}

/// The CRD with this name for a feature set.
pub fn crd_with(name: &str, line: MajorMinor, feature_set: &str) -> Option<Arc<Value>> {
    let previews: &[(&str, &LazyLock<Additions>)] = match feature_set {
        "TechPreviewNoUpgrade" => &[("tech-preview", &TECH_PREVIEW)],
        "DevPreviewNoUpgrade" | CUSTOM => &[("tech-preview", &TECH_PREVIEW), ("dev-preview", &DEV_PREVIEW)],
        _ => &[],
    };
    let (first, newest) = (CRDS.get(name)?.first_key_value()?, plain(name, line));
    let mut patched: Option<Value> = None;
    for (folder_name, additions) in previews {
        let Some(gated) = additions.get(name) else { continue };
        // Before the first definition, the newest preview file is complete. Later, preview files add up.
        let files: Vec<_> = match newest {
            None => gated.range(..=line).next_back().into_iter().collect(),
            Some(_) => gated.range(first.0..=&line).collect(),
        };
        for (from, file) in files {
            let definition = patched.get_or_insert_with(|| Value::clone(newest.unwrap_or(first.1)));
            patch(definition, file.clone(), &format!("crds/{name}/{folder_name}/{}.{}", from.0, from.1));
        }
    }
    patched.map(Arc::new).or_else(|| newest.cloned())
}

/// Returns whether any release has the CRD with this name.
pub fn is_modelled(name: &str) -> bool {
    CRDS.contains_key(name)
}

/// All modelled CRDs for releases of `line`, sorted by name.
pub fn crds(line: MajorMinor) -> impl Iterator<Item = &'static Value> {
    CRDS.keys().filter_map(move |name| crd(name, line))
}

/// All documents of the files in `manifests/<folder>`, sorted by file name. Empty if there is no such folder.
pub fn objects(folder: &str) -> &'static [Value] {
    OBJECTS.get(folder).map_or(&[], Vec::as_slice)
}

/// The documents of `manifests/payload/<name>.yaml` in order, or the object in the folder of that name as a release of
/// `line` has it. Empty if there is neither.
pub fn payload(name: &str, line: MajorMinor) -> &'static [Value] {
    let versions = PAYLOAD.get(name);
    let newest = versions.and_then(|versions| versions.range(..=line).next_back());
    newest.map_or(&[], |(_, documents)| documents)
}

/// The only document of `manifests/<path>`.
pub(crate) fn only(path: &str) -> Value {
    only_document(FILES.get_file(path).unwrap_or_else(|| panic!("manifests/{path} is not in the binary")))
}

/// The only document of each file in `manifests/<path>` that is named after a minor, by that minor.
pub(crate) fn by_line(path: &str) -> BTreeMap<MajorMinor, Value> {
    folder(path).files().filter_map(|file| Some((line_of(file)?, only_document(file)))).collect()
}

fn folder(path: &str) -> &'static Dir<'static> {
    FILES.get_dir(path).unwrap_or_else(|| panic!("manifests/{path} is not in the binary"))
}

/// The minor in a file name: `(4, 14)` for `4.14.yaml`.
fn line_of(file: &File<'_>) -> Option<MajorMinor> {
    line(file.path().file_stem()?.to_str()?)
}

/// Parses a minor: `(4, 14)` for `4.14`.
pub(crate) fn line(text: &str) -> Option<MajorMinor> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn only_document(file: &File<'_>) -> Value {
    let mut found = documents(file);
    let last = found.pop();
    assert!(found.is_empty(), "manifests/{}: more than one document", file.path().display());
    last.unwrap_or_else(|| panic!("manifests/{}: no document", file.path().display()))
}

fn documents_in(dir: &Dir<'_>) -> Vec<Value> {
    let mut files: Vec<_> = manifests_in(dir).collect();
    files.sort_by_key(|file| file.path());
    files.into_iter().flat_map(documents).collect()
}

/// The files with objects: not the one that describes the container image.
fn manifests_in<'a>(dir: &'a Dir<'a>) -> impl Iterator<Item = &'a File<'a>> {
    dir.files().filter(|file| file.path().extension().is_some_and(|extension| extension == "yaml"))
}

fn documents(file: &File<'_>) -> Vec<Value> {
    let text =
        file.contents_utf8().unwrap_or_else(|| panic!("manifests/{}: not UTF-8", file.path().display()));
    yaml::from_str_multi(text).unwrap_or_else(|error| panic!("manifests/{}:{error}", file.path().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(dir: &Dir<'_>) -> usize {
        manifests_in(dir).map(|file| documents(file).len()).sum::<usize>()
            + dir.dirs().map(load).sum::<usize>()
    }

    #[test]
    fn every_file_loads_and_every_crd_has_its_folders_name() {
        assert!(load(&FILES) > 20);
        for name in CRDS.keys() {
            let newest = crd(name, (u64::MAX, 0)).unwrap();
            assert_eq!(newest["metadata"]["name"], **name);
        }
    }

    #[test]
    fn every_description_belongs_to_a_field_of_some_release() {
        for (name, texts) in &*DESCRIPTIONS {
            let lines = by_line("releases").into_keys();
            let mut definitions: Vec<Value> = lines
                .filter_map(|line| crd_with(name, line, "DevPreviewNoUpgrade"))
                .map(|crd| (*crd).clone())
                .collect();
            for path in texts.keys() {
                let has_field = |crd: &mut Value| {
                    let versions = crd["spec"]["versions"].as_array_mut().unwrap();
                    versions
                        .iter_mut()
                        .any(|version| field_at(&mut version["schema"]["openAPIV3Schema"], path).is_some())
                };
                assert!(definitions.iter_mut().any(has_field), "{name} has no {path}");
            }
        }
        let state = &crd("clusterversions.config.openshift.io", (4, 18)).unwrap()["spec"]["versions"][0]["schema"]
            ["openAPIV3Schema"]["properties"]["status"]["properties"]["history"]["items"]["properties"]["state"];
        assert!(state["description"].as_str().unwrap().starts_with("Completed"));
    }

    #[test]
    fn a_crd_exists_from_its_first_release_on() {
        let policies = "clusterimagepolicies.config.openshift.io";
        assert_eq!(crd(policies, (4, 19)), None);
        assert!(crd(policies, (4, 20)).is_some());
        assert_eq!(crd("nothing.config.openshift.io", (4, 20)), None);
        assert_eq!(crds((4, 20)).count(), crds((4, 19)).count() + 3);
    }

    #[test]
    fn gated_fields_exist_with_previews_from_their_release_on() {
        let name = "clusterversions.config.openshift.io";
        let risks = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/desiredUpdate/properties/acceptRisks";
        let has = |minor, set| crd_with(name, (4, minor), set).unwrap().pointer(risks).is_some();
        assert!(
            has(22, "TechPreviewNoUpgrade") && has(22, "DevPreviewNoUpgrade") && has(22, "CustomNoUpgrade")
        );
        assert!(!has(22, "") && !has(21, "TechPreviewNoUpgrade") && !has(22, "OKD"));
        assert_eq!(crd_with("nothing.config.openshift.io", (4, 22), "TechPreviewNoUpgrade"), None);
    }

    #[test]
    fn fields_of_developer_previews_are_in_no_technology_preview() {
        let mode = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/desiredUpdate/properties/mode";
        let has = |line, set| {
            crd_with("clusterversions.config.openshift.io", line, set).unwrap().pointer(mode).is_some()
        };
        assert!(has((4, 22), "DevPreviewNoUpgrade") && has((5, 0), "CustomNoUpgrade"));
        assert!(
            !has((4, 22), "TechPreviewNoUpgrade") && !has((4, 21), "DevPreviewNoUpgrade") && !has((5, 0), "")
        );
    }

    #[test]
    fn a_default_crd_was_a_preview_in_earlier_releases() {
        let name = "machineconfignodes.machineconfiguration.openshift.io";
        let version = |minor, set| {
            let found = crd_with(name, (4, minor), set)?;
            Some(found["spec"]["versions"][0]["name"].as_str()?.to_owned())
        };
        for (minor, plain, preview) in [
            (14, None, None),
            (15, None, Some("v1alpha1")),
            (18, None, Some("v1alpha1")),
            (19, None, Some("v1")),
            (20, Some("v1"), Some("v1")),
            (22, Some("v1"), Some("v1")),
        ] {
            let found = (version(minor, ""), version(minor, "TechPreviewNoUpgrade"));
            assert_eq!((found.0.as_deref(), found.1.as_deref()), (plain, preview), "4.{minor}");
        }
    }

    #[test]
    fn image_policies_were_a_preview_from_4_17_to_4_19() {
        let name = "clusterimagepolicies.config.openshift.io";
        for (minor, expected) in
            [(16, None), (17, Some("v1alpha1")), (19, Some("v1alpha1")), (20, Some("v1"))]
        {
            let found = crd_with(name, (4, minor), "TechPreviewNoUpgrade");
            let version = found.as_ref().and_then(|crd| crd["spec"]["versions"][0]["name"].as_str());
            assert_eq!(version, expected, "4.{minor}");
        }
    }

    #[test]
    fn numbers_and_strings_keep_their_types() {
        let crd = crd("clusterversions.config.openshift.io", (4, 13)).unwrap();
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
        let condition =
            crd.pointer(&format!("{status}/conditionalUpdates/items/properties/conditions/items"));
        let properties = &condition.unwrap()["properties"];
        assert_eq!(properties["observedGeneration"]["minimum"].as_i64(), Some(0));
        assert_eq!(properties["status"]["enum"], serde_json::json!(["True", "False", "Unknown"]));
    }

    #[test]
    fn every_object_of_the_base_cluster_has_a_name_and_follows_its_namespace() {
        let mut namespaces = Vec::new();
        for object in objects("base") {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            let name = text("/metadata/name").unwrap();
            assert!(object["apiVersion"].is_string(), "{name}");
            if let Some(namespace) = text("/metadata/namespace") {
                assert!(namespaces.contains(&namespace), "{name} before its namespace {namespace}");
            }
            if object["kind"] == "Namespace" {
                namespaces.push(name);
            }
        }
        assert!(namespaces.contains(&"kube-system".to_owned()));
    }

    #[test]
    fn an_unknown_folder_has_no_objects() {
        assert_eq!(objects("nowhere"), Vec::<Value>::new());
    }
}
