//! Cells of volumes, claims, storage classes and CSI drivers.

use serde_json::{Value, json};

use super::row::{Cells, NONE, Row, UNSET, joined, or_owned, plain};

const CLASS_ANNOTATION: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";

/// Access modes in short form, in the order of the API documentation.
fn access_modes(row: &Row<'_>, pointer: &str) -> String {
    const MODES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = row.list(pointer);
    joined(
        MODES.into_iter().filter(|(mode, _)| given.iter().any(|found| found == mode)).map(|(_, short)| short),
    )
}

/// The phase, or `Terminating` during deletion.
fn phase<'a>(row: &Row<'a>) -> &'a str {
    if row.is_terminating() { "Terminating" } else { row.text("/status/phase") }
}

fn class<'a>(row: &Row<'a>) -> &'a str {
    row.text_or(CLASS_ANNOTATION, row.text("/spec/storageClassName"))
}

pub(super) fn volume(row: &Row<'_>) -> Cells {
    let claim = match row.get("/spec/claimRef") {
        None => String::new(),
        Some(_) => {
            format!("{}/{}", row.text("/spec/claimRef/namespace"), row.text("/spec/claimRef/name"))
        }
    };
    vec![
        row.name(),
        json!(row.text("/spec/capacity/storage")),
        json!(access_modes(row, "/spec/accessModes")),
        json!(row.text("/spec/persistentVolumeReclaimPolicy")),
        json!(phase(row)),
        json!(claim),
        json!(class(row)),
        json!(row.text_or("/spec/volumeAttributesClassName", UNSET)),
        json!(row.text("/status/reason")),
        row.age(),
        json!(row.text_or("/spec/volumeMode", UNSET)),
    ]
}

pub(super) fn volume_claim(row: &Row<'_>) -> Cells {
    let bound = !row.text("/spec/volumeName").is_empty();
    let modes = if bound { access_modes(row, "/status/accessModes") } else { String::new() };
    let capacity = match row.text("/status/capacity/storage") {
        _ if !bound => "",
        "" => "0",
        size => size,
    };
    vec![
        row.name(),
        json!(phase(row)),
        json!(row.text("/spec/volumeName")),
        json!(capacity),
        json!(modes),
        json!(class(row)),
        json!(row.text_or("/spec/volumeAttributesClassName", UNSET)),
        row.age(),
        json!(row.text_or("/spec/volumeMode", UNSET)),
    ]
}

pub(super) fn storage_class(row: &Row<'_>) -> Cells {
    const DEFAULT: [&str; 2] = [
        "/metadata/annotations/storageclass.kubernetes.io~1is-default-class",
        "/metadata/annotations/storageclass.beta.kubernetes.io~1is-default-class",
    ];
    vec![
        row.class_name(&DEFAULT),
        json!(row.text("/provisioner")),
        json!(row.text_or("/reclaimPolicy", "Delete")),
        json!(row.text_or("/volumeBindingMode", "Immediate")),
        json!(row.flag("/allowVolumeExpansion")),
        row.age(),
    ]
}

pub(super) fn attachment(row: &Row<'_>) -> Cells {
    vec![
        row.name(),
        json!(row.text("/spec/attacher")),
        json!(row.text("/spec/source/persistentVolumeName")),
        json!(row.text("/spec/nodeName")),
        json!(row.flag("/status/attached")),
        row.age(),
    ]
}

pub(super) fn csi_node(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.count("/spec/drivers")), row.age()]
}

pub(super) fn csi_driver(row: &Row<'_>) -> Cells {
    let attach = row.get("/spec/attachRequired").and_then(Value::as_bool).unwrap_or(true);
    let requests = row.get("/spec/tokenRequests").and_then(Value::as_array);
    let audiences = |requests: &Vec<Value>| {
        let audiences = requests.iter().map(|token| token["audience"].as_str().unwrap_or_default());
        audiences.collect::<Vec<_>>().join(",")
    };
    let audiences = requests.map_or_else(|| UNSET.to_owned(), audiences);
    vec![
        row.name(),
        json!(attach),
        json!(row.flag("/spec/podInfoOnMount")),
        json!(row.flag("/spec/storageCapacity")),
        json!(audiences),
        json!(row.flag("/spec/requiresRepublish")),
        json!(or_owned(joined(row.list("/spec/volumeLifecycleModes").iter().map(plain)))),
        row.age(),
    ]
}

pub(super) fn attributes_class(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.text_or("/driverName", NONE)), row.age()]
}
