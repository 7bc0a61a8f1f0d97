//! Warnings about files of volumes that hide each other.

use serde_json::Value;

use crate::gotext::quote;
use crate::kinds::validation::{items, text};

/// The path of a file in a volume, and where the file is from.
#[derive(Debug, Clone, PartialEq)]
struct File<'a> {
    path: &'a str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        if self.source.is_empty() {
            quote(self.path)
        } else {
            format!("{} ({})", quote(self.path), self.source)
        }
    }

    /// Whether one path is the other one, or a folder above it.
    fn overlaps(&self, other: &Self) -> bool {
        let (one, two) = (self.path, other.path);
        let is_in = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !one.is_empty() && !two.is_empty() && (is_in(one, two) || is_in(two, one))
    }
}

/// The warnings about all volumes (`warningsForOverlappingVirtualPaths`).
pub(super) fn overlapping_paths(volumes: &Value, out: &mut Vec<String>) {
    for volume in items(volumes) {
        let name = quote(text(&volume["name"]));
        for (field, kind, reference) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let source = &volume[field];
            let described = match reference {
                "" => kind.to_owned(),
                reference => format!("{kind} {}", quote(text(&source[reference]))),
            };
            let mut files = Vec::new();
            for file in files_of(source, "") {
                add(file, &mut files, &name, &described, out);
            }
        }
        projected(&volume["projected"], &name, out);
    }
}

fn projected(source: &Value, name: &str, out: &mut Vec<String>) {
    let mut files = Vec::new();
    for source in items(&source["sources"]) {
        let fields = source.as_object();
        if fields.is_none_or(|fields| fields.values().all(Value::is_null)) {
            out.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        for file in projected_files(source) {
            add(file, &mut files, name, "Projected", out);
        }
    }
}

/// Warns about a file that overlaps with one of `files`, and adds it to them.
fn add<'a>(file: File<'a>, files: &mut Vec<File<'a>>, volume: &str, source: &str, out: &mut Vec<String>) {
    for other in files.iter().filter(|other| other.overlaps(&file)) {
        let (file, other) = (file.shown(), other.shown());
        out.push(format!("volume {volume} ({source}): overlapping paths: {file} with {other}"));
    }
    files.push(file);
}

fn files_of<'a>(source: &'a Value, described: &str) -> Vec<File<'a>> {
    let paths = items(&source["items"]).iter().map(|item| text(&item["path"]).trim_end_matches('/'));
    paths.map(|path| File { path, source: described.to_owned() }).collect()
}

fn file(path: &Value, source: String) -> File<'_> {
    File { path: text(path).trim_end_matches('/'), source }
}

/// The files of one source of a projected volume.
fn projected_files(source: &Value) -> Vec<File<'_>> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if source[field]["items"].is_array() {
            return files_of(&source[field], &format!("{kind} {}", quote(text(&source[field]["name"]))));
        }
    }
    let (bundle, certificate) = (&source["clusterTrustBundle"], &source["podCertificate"]);
    if source["downwardAPI"]["items"].is_array() {
        files_of(&source["downwardAPI"], "DownwardAPI")
    } else if source["serviceAccountToken"].is_object() {
        vec![file(&source["serviceAccountToken"]["path"], "ServiceAccountToken".to_owned())]
    } else if bundle.is_object() {
        let name = bundle["name"].as_str().unwrap_or_else(|| text(&bundle["signerName"]));
        vec![file(&bundle["path"], format!("ClusterTrustBundle {}", quote(name)))]
    } else {
        let paths = [
            ("certificateChainPath", "chain"),
            ("keyPath", "key"),
            ("credentialBundlePath", "credential bundle"),
        ];
        let given = paths.into_iter().filter(|(field, _)| !text(&certificate[*field]).is_empty());
        given.map(|(field, what)| file(&certificate[field], format!("PodCertificate {what}"))).collect()
    }
}
