//! Damaged files, requests and arguments. Each function that takes bytes of a user or of a network uses them as the
//! program does: it reads them or rejects them, and does not panic.

mod commands;
mod damage;
mod dumps;
mod insights;
mod plans;
mod queries;
mod records;
mod releases;
mod requests;
mod rules;
mod values;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::VirtualClock;

use super::campaign::campaign;
use super::checked_server::now;
use super::dice::Dice;
pub(super) use damage::damaged;

/// Damaged inputs of a reader that run with fixed seeds, for each of its valid inputs.
const DAMAGED: usize = 2;

/// Reads valid inputs, then damaged ones.
fn read_damaged(name: &str, valid: &[Vec<u8>], read: impl Fn(&[u8])) {
    check_damaged(name, valid, |input| {
        read(input);
        Ok(())
    });
}

/// The same for a reader whose answers are checked.
fn check_damaged(name: &str, valid: &[Vec<u8>], read: impl Fn(&[u8]) -> Result<(), String>) {
    let seeds = valid.len() * (1 + DAMAGED);
    campaign(name, seeds as u64, |seed| {
        let is_valid = usize::try_from(seed).ok().and_then(|index| valid.get(index)).cloned();
        read(&is_valid.unwrap_or_else(|| damaged(&mut Dice::new(name, seed), valid)))
    });
}

/// Texts as inputs.
fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The content of files of the repository.
fn files(paths: &[&str]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))).collect()
}

/// The content of the files in a folder that have this extension, in the order of their names.
fn folder(path: &str, extension: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The definition of a custom resource whose field `spec` has this schema.
fn widgets(schema: &Value) -> Value {
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.io" }, "spec": { "group": "example.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": schema } } } }] } })
}

/// Runs a client of a server for a minute of virtual time at most.
fn with_clients<F: Future<Output = ()>>(
    server: ApiServer,
    client: impl FnOnce(Shared, Arc<VirtualClock>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let clock = VirtualClock::starting_at(now());
        let shared = Shared::new(server, clock.clone());
        let _ = tokio::time::timeout(Duration::from_secs(60), client(shared, clock)).await;
    });
}
