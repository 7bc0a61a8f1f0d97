//! The objects in files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windtunnel_core::yaml;

use crate::cli::files;
use crate::cli::output::Shown as _;

/// The greatest size of a file, in bytes. The API server accepts objects of 1.5 MB.
const SIZE_MAX: u64 = 32 << 20;

/// An object, and the place where it begins.
pub(super) struct Document {
    pub(super) object: Value,
    file: String,
    line: usize,
}

impl Document {
    /// Whether it is a CustomResourceDefinition.
    pub(super) fn is_definition(&self) -> bool {
        self.object["kind"] == "CustomResourceDefinition"
    }

    /// `file:line:column`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}:1", self.file, self.line)
    }
}

/// Reads the objects in a file, or in all YAML and JSON files of a folder and its subfolders.
///
/// # Errors
/// All errors in files, each with its place; or there is no definition.
pub(super) fn read_documents(path: &Path) -> Result<Vec<Document>, String> {
    let mut files = Vec::new();
    find(path, path, &mut files)?;
    files.sort();
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for file in &files {
        match read_file(file) {
            Ok(documents) => found.extend(documents),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    if !found.iter().any(Document::is_definition) {
        return Err(format!(
            "{}: expected CustomResourceDefinitions here, found none in {} (*.yaml, *.yml or *.json)",
            path.shown(),
            windtunnel_core::text::counted(files.len(), "file")
        ));
    }
    Ok(found)
}

/// Finds files with manifests, at a path in the folder that the user named.
fn find(folder: &Path, path: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.shown());
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // Links to folders may form cycles.
        if entry.file_type().map_err(failed)?.is_dir() {
            find(folder, &path, found)?;
        } else if matches!(path.extension().and_then(|name| name.to_str()), Some("yaml" | "yml" | "json")) {
            files::allowed::check_found(folder, &path)?;
            found.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<Document>, String> {
    let file = path.shown();
    let size = fs::metadata(path).map_err(|error| format!("{file}: {error}"))?.len();
    if size > SIZE_MAX {
        let (megabytes, most) = (size >> 20, SIZE_MAX >> 20);
        return Err(format!(
            "{file}: expected a file with CustomResourceDefinitions of at most {most} MB, found {megabytes} MB; pass a dump of a cluster with --objects"
        ));
    }
    let text = files::read(path)?;
    let values = yaml::from_str_multi_large::<Value>(&text).map_err(|error| format!("{file}:{error}"))?;
    let lines = starts(&text).into_iter().chain(std::iter::repeat(1));
    let documents = values.into_iter().filter(|value| !value.is_null()).zip(lines);
    let flat = documents.flat_map(|(value, line)| items(value).into_iter().map(move |object| (object, line)));
    let objects = flat.filter(|(object, _)| object["kind"].is_string());
    Ok(objects.map(|(object, line)| Document { object, file: file.clone(), line }).collect())
}

/// The items of a list; or the object itself.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Object(mut fields) if fields.get("items").is_some_and(Value::is_array) => {
            match fields.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        value => vec![value],
    }
}

/// The first lines of documents that are not empty.
fn starts(text: &str) -> Vec<usize> {
    let (mut found, mut start) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        if line == "---" || line.starts_with("--- ") {
            found.extend(start.take());
        } else if !is_blank && start.is_none() {
            start = Some(index + 1);
        }
    }
    found.extend(start);
    found
}
