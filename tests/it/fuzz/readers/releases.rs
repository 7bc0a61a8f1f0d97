//! Releases: payloads, the definitions that a rollback compares, and signatures.

use std::collections::BTreeSet;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::yaml;
use windtunnel_openshift::certificate::Certificate;
use windtunnel_openshift::payload::{METADATA, Payload, Selection, is_payload_file};
use windtunnel_openshift::release::Release;
use windtunnel_openshift::signature;
use windtunnel_rollback::check::{Check, Options};
use windtunnel_rollback::output::{fingerprints, html, json, markdown, sarif, table};
use windtunnel_rollback::release::{Definition, Release as Definitions};
use windtunnel_rollback::trap::Harm;
use windtunnel_rollback::{Direction, Report};

use super::{files, folder, read_damaged, texts, widgets};

/// A digest as in a signature.
const DIGEST: &str = "sha256:aa";

#[test]
fn damaged_payloads() {
    let payload = "scenarios/update/payload-4.18.6";
    let mut found = folder(payload, "yaml");
    found.extend(files(&[&format!("{payload}/release-metadata"), &format!("{payload}/image-references")]));
    read_damaged("readers::releases::damaged_payloads", &found, read_payload);
}

/// A manifest of a payload, or a template of one.
fn read_payload(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let metadata = (METADATA.to_owned(), r#"{"version": "4.18.6", "metadata": {"url": "u"}}"#.to_owned());
    let template = "0000_50_a-operator_02_deployment.yaml";
    let names = [template, "0000_10_b_crd.yaml", "image-references", METADATA];
    for name in names {
        let _ = is_payload_file(name);
        let mut files = vec![(name.to_owned(), text.clone())];
        if name != METADATA {
            files.push(metadata.clone());
        }
        if let Ok(payload) = Payload::parse(files, "quay.io/release@sha256:aa") {
            let selection = Selection::of(None, &payload.version);
            let _ = (payload.version_hash(&selection), payload.verification(&selection));
            payload.manifests.iter().for_each(|manifest| drop(manifest.capabilities()));
            let _ = Release::with_payload(&Version::new(4, 18, 6), payload.into()).as_status();
        }
    }
}

#[test]
fn damaged_definitions_of_releases() {
    let with = |spec: Value| widgets(&spec).to_string().into_bytes();
    let valid = vec![
        with(json!({ "type": "object", "properties": { "a": { "type": "integer", "maximum": 9 },
            "s": { "type": "string", "enum": ["x", "z"] }, "new": { "type": "boolean" } } })),
        with(json!({ "type": "object", "properties": { "a": { "x-kubernetes-int-or-string": true },
            "s": { "type": "string", "pattern": "^[x-z]$", "maxLength": 3 } } })),
        with(
            json!({ "type": "object", "properties": { "s": { "type": "array", "items": { "type": "string" } } },
            "x-kubernetes-validations": [{ "rule": "!has(self.s) || self.s.size() > 0" }] }),
        ),
        with(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
    ];
    read_damaged("readers::releases::damaged_definitions_of_releases", &valid, read_definition);
}

/// A definition of the newer release, which is compared with that of an older one.
fn read_definition(bytes: &[u8]) {
    let Ok(object) = yaml::from_str::<Value>(&String::from_utf8_lossy(bytes)) else { return };
    let Ok(newer) = Definition::parse(&object) else { return };
    let mut older = widgets(&json!({ "type": "object", "properties": {
        "a": { "type": "integer", "maximum": 5 }, "s": { "type": "string", "enum": ["x", "y"] } } }));
    older["metadata"]["name"] = json!(newer.name());
    let Ok(older) = Definition::parse(&older) else { return };
    let name = newer.name().to_owned();
    let (mut newest, mut oldest) = (Definitions::new("newer", 33), Definitions::new("older", 32));
    newest.add(newer);
    oldest.add(older);
    let options = Options { others: 33..=33, random_objects: 1, ..Options::judged_by(32) };
    let check = Check::new(newest, oldest, options);
    let report = Report::of(&check, Direction::Rollback, vec![check.definition(&name)]);
    let _ = (table(&report, Harm::Note), markdown(std::slice::from_ref(&report), Harm::Note));
    let reports = [report];
    let _ = (html(&reports, Harm::Note), sarif(&reports, Harm::Note, &|_| None));
    let _ = fingerprints(&json(&reports));
}

#[test]
fn damaged_baselines() {
    let valid = texts(&[
        r#"{"reports": [{"traps": [{"fingerprint": "a"}, {"fingerprint": "b"}]}]}"#,
        r#"{"reports": []}"#,
        r#"{"reports": [{"traps": []}, {"direction": "rollback"}]}"#,
    ]);
    read_damaged("readers::releases::damaged_baselines", &valid, read_baseline);
}

/// The report of an earlier check, which names the known traps.
fn read_baseline(bytes: &[u8]) {
    if let Ok(document) = serde_json::from_slice::<Value>(bytes) {
        let _: Result<BTreeSet<String>, String> = fingerprints(&document);
    }
}

#[test]
fn damaged_signatures() {
    let certificate = Certificate::of_signer("signer", "a").pem();
    let document = signature::document(DIGEST, signature::KEYRING);
    let both = format!("{certificate}{}", Certificate::of_signer("web.svc", "b").pem());
    let valid = texts(&[&certificate, &document, &both]);
    read_damaged("readers::releases::damaged_signatures", &valid, read_signature);
}

/// A signature of a release, and certificates in PEM.
fn read_signature(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (signature::signer(&text, DIGEST), signature::key_prefix(&text));
    for certificate in Certificate::all_in(&text) {
        let data = certificate.secret_data();
        assert!(Certificate::in_secret(&json!({ "data": data })) == Some(certificate), "{data}");
    }
    let _ = Certificate::in_secret(&json!({ "data": { "tls.crt": text } }));
}
