//! Clusters as files: must-gathers, archives of them, and the alerts in them.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use windtunnel::cli;
use windtunnel::dump::{self, Dump, Facts, Source, Wanted};
use windtunnel_apiserver::ApiServer;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, Resource};
use windtunnel_update_status::controller::snapshot;
use windtunnel_update_status::status::published::sections_on_nodes;
use windtunnel_update_status::status::{AlertsResponse, Details, Inputs, KINDS, Moment, render};

use super::{files, read_damaged};
use crate::fuzz::checked_server::now;

/// A folder in which each name of a file is a line of this form, followed by the content of the file.
const NAME: &str = "### ";

/// The dump from which the examples are made.
const FOLDER: &str = "tests/dumps/paused-workers/cluster-scoped-resources";

/// The answer of Prometheus about alerts.
const ALERTS: &str = r#"{"status": "success", "data": {"alerts": [{"labels": {"alertname": "A", "severity": "critical",
    "namespace": "a"}, "annotations": {"summary": "s", "description": "d", "runbook_url": "https://example.com"},
    "state": "firing", "activeAt": "2024-01-01T00:00:00.5Z", "value": "1"}, {"labels": {}, "state": "pending"}]}}"#;

#[test]
fn damaged_dumps() {
    read_damaged("readers::dumps::damaged_dumps", &dump_examples(), read_dump);
}

/// Files of a must-gather in one text: the status, the insights and a server with the objects.
fn read_dump(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files = sources(&text);
    for file in &files {
        let start = file.text.as_bytes();
        let _ = dump::look(&file.path, &start[..start.len().min(dump::START)], Wanted::Kinds(KINDS));
    }
    let _ = Dump::parse(files.clone(), KINDS);
    show(&Dump::read_all(files).0);
}

/// Returns the files in a text; the whole text is one file if it names none.
fn sources(text: &str) -> Vec<Source> {
    let (mut files, mut current) = (Vec::new(), Source { path: "a.yaml".to_owned(), text: String::new() });
    for line in text.split_inclusive('\n') {
        match line.strip_prefix(NAME) {
            Some(path) => {
                let next = Source { path: path.trim_end().to_owned(), text: String::new() };
                files.push(std::mem::replace(&mut current, next));
            }
            None => current.text.push_str(line),
        }
    }
    files.push(current);
    files.retain(|file| !file.text.is_empty());
    files
}

/// Computes everything that windtunnel shows of a dump.
fn show(dump: &Dump) {
    let objects = || dump.objects().map(|(_, object)| object);
    let _ = Facts::of(objects()).line();
    let list = |resource: &Resource| dump.list(resource).cloned().collect::<Vec<Object>>();
    let alerts = dump.alerts.as_ref().map(|body| AlertsResponse::parse(body.as_bytes())).unwrap_or_default();
    show_status(&list, &alerts);
    let values: Vec<Value> = objects().map(Object::to_value).collect();
    let _ = dump::definitions_without_schema(&values);
    for value in &values {
        drop(dump::conversions(value));
    }
    let mut server = ApiServer::builder().build(now());
    let _ = server.import(values, now());
    let _ = dump::object_files(server.objects().map(|(key, object)| (key, object.to_value())));
}

/// Renders the status and the insights of a cluster.
fn show_status(list: &dyn Fn(&Resource) -> Vec<Object>, alerts: &AlertsResponse) {
    let active = match alerts {
        AlertsResponse::Answer(answer) => answer["data"]["alerts"].as_array().cloned().unwrap_or_default(),
        AlertsResponse::Unfetched(_) | AlertsResponse::Unreadable(_) => Vec::new(),
    };
    let details = || Details::NAMES.iter().filter_map(|name| Details::named(name));
    if let Ok(mut inputs) = Inputs::gather(list) {
        inputs.alerts = alerts.clone();
        for at in [inputs.mock_now(), Time::MIN, Time::MAX, now()] {
            details().for_each(|details| drop(render(&inputs, Moment { now: at, wall: at }, details)));
        }
    }
    for at in [Time::MIN, Time::MAX, now()] {
        let active = active.iter().map(ActiveAlert::parse).collect();
        if let Ok(insights) = snapshot::insights_from_objects(list, active, 32, at) {
            details().for_each(|details| drop(sections_on_nodes(insights.values(), details)));
        }
    }
}

fn dump_examples() -> Vec<Vec<u8>> {
    let inspection = [
        ("config.openshift.io/clusterversions", "version.yaml"),
        ("config.openshift.io", "clusteroperators.yaml"),
        ("core/nodes", "crane-master-0.yaml"),
        ("core/nodes", "crane-worker-a.yaml"),
        ("machineconfiguration.openshift.io", "machineconfigpools.yaml"),
    ];
    let mut gathered = String::new();
    for (folder, name) in inspection {
        let text = fs::read_to_string(format!("{FOLDER}/{folder}/{name}")).unwrap();
        gathered += &format!("{NAME}cluster-scoped-resources/{folder}/{name}\n{text}");
    }
    gathered += &format!("{NAME}monitoring/prometheus/alerts.json\n{ALERTS}");
    let mut found = vec![gathered.into_bytes()];
    found.extend(files(&[
        "tests/dumps/update.yaml",
        &format!("{FOLDER}/config.openshift.io/clusterversions/version.yaml"),
        &format!("{FOLDER}/core/nodes/crane-worker-b.yaml"),
    ]));
    found
}

#[test]
fn damaged_archives() {
    read_damaged("readers::dumps::damaged_archives", &archive_examples(), read_archive);
}

/// An archive of a must-gather. The first byte selects its kind: even for a compressed one.
fn read_archive(bytes: &[u8]) {
    let Some((first, content)) = bytes.split_first() else { return };
    let name = if first.is_multiple_of(2) { "dump.tar.gz" } else { "dump.tar" };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    if let Ok((dump, _)) = cli::read_dump(&path) {
        show(&dump);
    }
}

fn archive_examples() -> Vec<Vec<u8>> {
    let gathered = dump_examples().swap_remove(0);
    let files = sources(&String::from_utf8_lossy(&gathered));
    let few = archive(&files[..1]);
    [archive(&files), compressed(&archive(&files)), few.clone(), compressed(&few)]
        .into_iter()
        .zip([1, 0].into_iter().cycle())
        .map(|(content, first)| [vec![first], content].concat())
        .collect()
}

/// Returns a tar archive of files.
fn archive(files: &[Source]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, &file.path, file.text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Returns the dump of the first example.
pub(super) fn example() -> Dump {
    let gathered = dump_examples().swap_remove(0);
    Dump::read_all(sources(&String::from_utf8_lossy(&gathered))).0
}
