//! Validation of the source of a persistent volume: there is exactly one, with the fields that it needs
//! (`ValidatePersistentVolumeSpec`).

use serde_json::{Map, Value};

use super::driver_name;
use crate::kinds::validation::pods::volumes as shared;
use crate::kinds::validation::{Errors, Path, absent, internal, items, text};
use crate::names;

/// The sources in the order in which the server looks for them, with the fields that each needs.
const REQUIRED: [(&str, &[&str]); 22] = [
    ("hostPath", &["path"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("nfs", &["server", "path"]),
    ("rbd", &["monitors", "image"]),
    ("quobyte", &["volume"]),
    ("cephfs", &["monitors"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("cinder", &["volumeID"]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("local", &["path"]),
    ("storageos", &["volumeName"]),
    ("csi", &["volumeHandle"]),
];
const HOST_PATHS: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const SECOND: &str = "may not specify more than 1 volume type";

/// The internal type of the sources.
pub(super) const SOURCE: &str = "PersistentVolumeSource";

/// The sources of a volume.
pub(super) fn of(spec: &Value) -> Value {
    let fields =
        internal::fields(SOURCE).filter_map(|field| Some((field.to_owned(), spec.get(field)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}

pub(super) fn check(spec: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = REQUIRED.iter().filter(|(source, _)| spec[*source].is_object());
    let Some((source, fields)) = given.next() else {
        return errors.required(at, "must specify a volume type");
    };
    // Some names of fields differ in messages.
    let place = match *source {
        "gcePersistentDisk" => "persistentDisk",
        source => source,
    };
    let value = &spec[*source];
    let place = at.child(place);
    required(fields, value, place, errors);
    details(source, value, name, place, errors);
    if *source == "local" && spec["nodeAffinity"].is_null() {
        errors.required(at.child("nodeAffinity"), "Local volume requires node affinity");
    }
    for (source, fields) in given {
        match *source {
            // A flexible volume is allowed beside the first one.
            "flexVolume" => {
                let place = at.child(source);
                required(fields, &spec[*source], place, errors);
                details(source, &spec[*source], name, place, errors);
            }
            "cephfs" => errors.forbidden(at.child("cephFS"), SECOND),
            _ => errors.forbidden(at.child(source), SECOND),
        }
    }
}

/// Requires fields of a source.
fn required(fields: &[&str], value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in fields.iter().filter(|field| absent(&value[**field])) {
        errors.required(at.child(field), "");
    }
}

/// Validates what is particular to some sources.
fn details(source: &str, value: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    match source {
        "hostPath" | "local" if !absent(&value["path"]) => {
            no_backsteps(text(&value["path"]), at.child("path"), errors);
            if source == "hostPath" && value["type"].as_str().is_some_and(|kind| !HOST_PATHS.contains(&kind))
            {
                errors.unsupported(at.child("type"), text(&value["type"]), &HOST_PATHS);
            }
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            range(&value["partition"], (0, 255), "1 and 255", at.child("partition"), errors);
        }
        "nfs" if !text(&value["path"]).starts_with('/') => {
            errors.invalid(at.child("path"), text(&value["path"]), "must be an absolute path");
        }
        "iscsi" => iscsi(value, name, at, errors),
        "fc" => fibre_channel(value, at, errors),
        "storageos" => storage_os(value, at, errors),
        "cinder" => secret(&value["secretRef"], at.child("secretRef"), errors),
        "glusterfs" => namespace(value, "endpointsNamespace", at, errors),
        "azureFile" if value["secretNamespace"] == "" => {
            errors.required(at.child("secretNamespace"), "");
        }
        "azureDisk" => shared::azure_disk(value, at, errors),
        "flocker" => shared::flocker(value, at, errors),
        "quobyte" => shared::quobyte(value, at, errors),
        "flexVolume" => flexible_options(&value["options"], at.child("options"), errors),
        "csi" => csi(value, at, errors),
        _ => {}
    }
}

/// Validates the names of a StorageOS volume and its secret.
fn storage_os(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["volumeName", "volumeNamespace"] {
        let name = text(&value[field]);
        if !name.is_empty() {
            errors.each(at.child(field), name, names::label(name));
        }
    }
    secret(&value["secretRef"], at.child("secretRef"), errors);
}

/// Rejects a path that goes up (`validatePathNoBacksteps`).
fn no_backsteps(path: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if path.split('/').any(|part| part == "..") {
        errors.invalid(at, path, "must not contain '..'");
    }
}

fn range(value: &Value, (least, most): (i64, i64), text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(number) = value.as_i64().filter(|number| !(least..=most).contains(number)) {
        errors.invalid(at, number, format!("must be between {text}, inclusive"));
    }
}

fn iscsi(value: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let initiator = &value["initiatorName"];
    let portal = text(&value["targetPortal"]);
    if !initiator.is_null() && name.len() + 1 + portal.len() > 64 {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                   iscsi.initiatorName is specified.";
        errors.invalid(at.child("targetportal"), portal, why);
    }
    let iqn = Some(text(&value["iqn"])).filter(|iqn| !iqn.is_empty());
    for (given, shown) in [(iqn, "iqn"), (initiator.as_str(), "initiatorname")] {
        if let Some(given) = given.filter(|given| !shared::is_iscsi_name(given)) {
            errors.invalid(at.child(shown), given, "must be valid format");
        }
    }
    range(&value["lun"], (0, 255), "0 and 255", at.child("lun"), errors);
    let authenticates = value["chapAuthDiscovery"] == true || value["chapAuthSession"] == true;
    let place = at.child("secretRef");
    if authenticates && value["secretRef"].is_null() {
        errors.required(place, "");
    } else if value["secretRef"].is_object() && absent(&value["secretRef"]["name"]) {
        errors.required(place.child("name"), "");
    }
}

fn fibre_channel(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("targetWWNs");
    match (absent(&value["targetWWNs"]), absent(&value["wwids"])) {
        (true, true) => {
            errors.required(place, "must specify either targetWWNs or wwids, but not both");
        }
        (false, false) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.invalid(place, items(&value["targetWWNs"]).to_vec(), why);
        }
        _ => {}
    }
    if absent(&value["targetWWNs"]) {
        return;
    }
    match value["lun"].as_i64() {
        None => errors.required(at.child("lun"), "lun is required if targetWWNs is specified"),
        Some(_) => range(&value["lun"], (0, 255), "0 and 255", at.child("lun"), errors),
    }
}

/// Validates a reference to a secret: both its fields are required.
fn secret(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["name", "namespace"] {
        if value.is_object() && absent(&value[field]) {
            errors.required(at.child(field), "");
        }
    }
}

fn namespace(value: &Value, field: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child(field);
    match value[field].as_str() {
        None => {}
        Some("") => {
            let why = "if the endpointnamespace is set, it must be a valid namespace name";
            errors.invalid(at, "", why);
        }
        Some(name) => errors.each(at, name, names::label(name)),
    }
}

/// Rejects options in the namespaces of Kubernetes (`validateFlexPersistentVolumeSource`).
fn flexible_options(options: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for key in options.as_object().into_iter().flat_map(Map::keys) {
        let domain = format!(".{}", key.split('/').next().unwrap_or_default().to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            errors.invalid(at.key(key), key.as_str(), why);
        }
    }
}

/// Validates the source of a CSI driver (`validateCSIPersistentVolumeSource`).
fn csi(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    driver_name(text(&value["driver"]), at.child("driver"), errors);
    for operation in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let reference = &value[operation];
        let at = at.child(operation);
        secret(reference, at, errors);
        let (name, namespace) = (text(&reference["name"]), text(&reference["namespace"]));
        if !name.is_empty() {
            errors.each(at.child("name"), name, names::subdomain(name));
        }
        if !namespace.is_empty() {
            errors.each(at.child("namespace"), namespace, names::label(namespace));
        }
    }
}
