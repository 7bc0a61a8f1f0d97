//! The kinds of volume sources. A volume has exactly one source.

use serde_json::Value;

use super::{claims, disks, files, network, projected};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::pods::container::pull_policy;
use crate::kinds::validation::pods::names::{descending_path, no_backsteps};
use crate::kinds::validation::{Errors, Path, absent, text};

type Check = fn(&Value, Path<'_>, &mut Errors<'_>);

/// A kind of volume source.
struct Source {
    /// The name of its field.
    field: &'static str,
    /// The name of the field in its own errors, and in the error about a second source.
    shown: (&'static str, &'static str),
    /// The fields that must not be empty.
    required: &'static [&'static str],
    /// Its other rules.
    check: Check,
}

const fn source_of(field: &'static str, required: &'static [&'static str], check: Check) -> Source {
    Source { field, shown: (field, field), required, check }
}

fn nothing_else(_source: &Value, _at: Path<'_>, _errors: &mut Errors<'_>) {}

/// All sources, in the order of a real server. It misspells some names.
const SOURCES: &[Source] = &[
    source_of("emptyDir", &[], empty_dir),
    source_of("hostPath", &["path"], host_path),
    source_of("gitRepo", &["repository"], git_repo),
    Source {
        shown: ("persistentDisk", "gcePersistentDisk"),
        ..source_of("gcePersistentDisk", &["pdName"], disks::partition)
    },
    source_of("awsElasticBlockStore", &["volumeID"], disks::partition),
    source_of("secret", &["secretName"], files::keys),
    source_of("nfs", &["server", "path"], network::nfs),
    source_of("iscsi", &["targetPortal", "iqn"], disks::iscsi),
    source_of("glusterfs", &["endpoints", "path"], nothing_else),
    source_of("flocker", &[], disks::flocker),
    source_of("persistentVolumeClaim", &["claimName"], nothing_else),
    source_of("rbd", &["monitors", "image"], nothing_else),
    source_of("cinder", &["volumeID"], network::secret_reference),
    Source { shown: ("cephfs", "cephFS"), ..source_of("cephfs", &["monitors"], nothing_else) },
    source_of("quobyte", &["volume"], network::quobyte),
    Source { shown: ("downwardAPI", "downwarAPI"), ..source_of("downwardAPI", &[], files::downward) },
    source_of("fc", &[], disks::fibre_channel),
    source_of("flexVolume", &["driver"], disks::flex),
    source_of("configMap", &["name"], files::keys),
    source_of("azureFile", &["secretName", "shareName"], nothing_else),
    source_of("vsphereVolume", &["volumePath"], nothing_else),
    source_of("photonPersistentDisk", &["pdID"], nothing_else),
    source_of("portworxVolume", &["volumeID"], nothing_else),
    source_of("azureDisk", &["diskName", "diskURI"], disks::azure),
    source_of("storageos", &["volumeName"], network::storage_os),
    source_of("projected", &[], projected::projected),
    source_of("scaleIO", &["gateway", "system", "volumeName"], nothing_else),
    source_of("csi", &[], network::csi),
    source_of("ephemeral", &[], claims::ephemeral),
    source_of("image", &[], nothing_else),
];

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Validates the source of a volume (`validateVolumeSource`).
pub(super) fn source(volume: &Value, is_pod: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = SOURCES.iter().filter(|source| volume[source.field].is_object());
    let Some(first) = given.next() else {
        errors.required(at, "must specify a volume type");
        return;
    };
    let (value, place) = (&volume[first.field], at.child(first.shown.0));
    for field in first.required.iter().filter(|field| absent(&value[**field])) {
        errors.required(place.child(field), "");
    }
    (first.check)(value, place, errors);
    if first.field == "image" {
        image(value, is_pod, place, errors);
    }
    for other in given {
        errors.forbidden(at.child(other.shown.1), "may not specify more than 1 volume type");
    }
}

fn empty_dir(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let size = Quantity::parse(text(&source["sizeLimit"])).ok().flatten();
    if size.is_some_and(Quantity::is_negative) {
        errors.forbidden(at.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
}

/// Validates a path of the host and its type (`validateHostPathVolumeSource`).
fn host_path(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if text(&source["path"]).is_empty() {
        return;
    }
    no_backsteps(text(&source["path"]), at.child("path"), errors);
    if let Some(given) = source["type"].as_str().filter(|given| !HOST_PATH_TYPES.contains(given)) {
        errors.unsupported(at.child("type"), given, &HOST_PATH_TYPES);
    }
}

fn git_repo(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    descending_path(text(&source["directory"]), at.child("directory"), errors);
}

/// Templates may have no reference yet: a controller may set it (`validateImageVolumeSource`).
fn image(source: &Value, is_pod: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    if is_pod && text(&source["reference"]).is_empty() {
        errors.required(at.child("reference"), "");
    }
    pull_policy(&source["pullPolicy"], at.child("pullPolicy"), errors);
}
