//! Arguments and files of commands: kubeconfigs, `oc`, faults.

use kube::client::ConfigExt as _;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, ServiceNetwork};
use windtunnel_core::requests::faults::RandomFaults;
use windtunnel_core::{Object, resources::CLUSTER_VERSIONS, text::error_chain};
use windtunnel_openshift::oc::{Alert, ClusterView, Command, CommandStep, Gates, Get};

use super::{check_damaged, dumps, read_damaged, texts};
use crate::fuzz::checked_server::{ask, now, server};

#[test]
fn damaged_kubeconfigs() {
    let config = |cluster: Value, user: Value| {
        json!({ "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "k", "cluster": cluster }], "users": [{ "name": "u", "user": user }],
            "contexts": [{ "name": "c", "context": { "cluster": "k", "user": "u", "namespace": "n" } }] })
        .to_string()
    };
    let token = config(
        json!({ "server": "https://127.0.0.1:6443/", "insecure-skip-tls-verify": true }),
        json!({ "token": "t" }),
    );
    let certificate = config(
        json!({ "server": "https://[::1]:6443", "certificate-authority-data": "LS0tLS1CRUdJTg==", "tls-server-name": "a.b" }),
        json!({ "client-certificate-data": "LS0t", "client-key-data": "LS0t" }),
    );
    let proxy = config(
        json!({ "server": "http://localhost", "proxy-url": "socks5://127.0.0.1:1", "extensions": [{ "name": "e", "extension": {} }] }),
        json!({ "username": "a", "password": "b", "as": "jane", "as-groups": ["g"] }),
    );
    let valid = texts(&[&token, &certificate, &proxy, "apiVersion: v1\nkind: Config\nclusters: []\n"]);
    read_damaged("readers::commands::damaged_kubeconfigs", &valid, read_kubeconfig);
}

/// A kubeconfig, up to the TLS settings of a client. No client is created: that would run the programs that a kubeconfig
/// may name for authentication.
fn read_kubeconfig(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = match Kubeconfig::from_yaml(&text) {
        Ok(parsed) => parsed,
        Err(error) => return drop(error_chain(&error)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        if let Ok(config) = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await {
            let _ = config.rustls_https_connector().map_err(|error| error_chain(&error));
        }
    });
}

/// Returns the words of a command: one on each line, or those between blanks of a single line.
fn words(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > 1 { lines } else { text.split_whitespace().map(str::to_owned).collect() }
}

#[test]
fn damaged_upgrade_arguments() {
    let valid = texts(&[
        "--to 4.16.2 --allow-explicit-upgrade --force",
        "--to-image=quay.io/openshift-release-dev/ocp-release@sha256:aa --allow-upgrade-with-warnings",
        "--to-latest=true --include-not-recommended",
        "channel stable-4.16 --allow-explicit-channel",
        "accept -RiskOne,RiskTwo --clear",
        "recommend --version 4.16.2 --show-outdated-releases --quiet --accept A",
        "rollback",
        "--clear",
    ]);
    read_damaged("readers::commands::damaged_upgrade_arguments", &valid, read_upgrade);
}

/// The arguments of `oc adm upgrade`, run on a cluster.
fn read_upgrade(bytes: &[u8]) {
    thread_local! {
        static VERSION: Option<Object> = dumps::example().list(&CLUSTER_VERSIONS).next().cloned();
    }
    let words = words(bytes);
    let gates = Gates { accept_risks: true, rollback: true };
    let Ok(command) = Command::read(&words, gates) else { return };
    let version = VERSION.with(Option::clone);
    let alert = json!({ "labels": { "alertname": "A", "severity": "critical" }, "state": "firing",
        "annotations": { "description": "d", "summary": "s", "runbook_url": "https://example.com" } });
    let alerts = [Alert::read(&alert)];
    for (cluster_version, alerts) in [(None, Err("no route")), (version.as_ref(), Ok(&alerts[..]))] {
        if let CommandStep::Patch(patch) = command.begin(&ClusterView { cluster_version, alerts }) {
            let _ = (patch.to_value(), cluster_version.map(|version| patch.finish(Ok(version))));
        }
    }
}

#[test]
fn damaged_get_arguments() {
    let valid = texts(&[
        "pods -n default -l app=a,!b -o wide",
        "clusterversion version -o jsonpath={.status.history[0].version}{\"\\n\"}",
        "po/a -A --no-headers -oname",
        "nodes\n-o\njsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.conditions[?(@.type==\"Ready\")].status}{\"\\n\"}{end}",
        "co -o yaml",
    ]);
    check_damaged("readers::commands::damaged_get_arguments", &valid, read_get);
}

/// The arguments of `oc get`, and its output.
fn read_get(bytes: &[u8]) -> Result<(), String> {
    let words = words(bytes);
    let Ok(get) = Get::read(&words, &[]) else { return Ok(()) };
    let _ = get.accept();
    let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "labels": { "app": "a" } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] }, "status": { "conditions": [{ "type": "Ready" }] } });
    let table = json!({ "kind": "Table", "columnDefinitions": [{ "name": "Name", "type": "string", "priority": 0 }],
        "rows": [{ "cells": ["a"], "object": object }] });
    let list = json!({ "kind": "PodList", "items": [object] });
    for answer in [object, table, list, json!({ "items": [] })] {
        let _ = get.print_response(&answer);
    }
    ask(&mut server(34), Method::Get, &get.path(), "", &Value::Null).map(drop)
}

#[test]
fn damaged_random_faults() {
    let valid = texts(&[
        "stale,410,conflict,seed=7,rate=25%,by=manager*,verb=update,kind=Pod,name=a",
        "all, seed=18446744073709551615,rate=0",
        "172.30.0.0/16",
        "10.96.0.7/30",
    ]);
    read_damaged("readers::commands::damaged_random_faults", &valid, read_random_faults);
}

/// The faults of `--perturb`, and a network of Services.
fn read_random_faults(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(random_faults) = text.parse::<RandomFaults>() {
        let written = random_faults.to_string();
        let again = written.parse::<RandomFaults>().map(|again| again.to_string());
        assert!(again.as_deref() == Ok(&written), "{written} is read as {again:?}");
    }
    if let Ok(network) = text.parse::<ServiceNetwork>() {
        let mut server = ApiServer::builder().service_network(network).build(now());
        let service = json!({ "metadata": { "generateName": "s-" }, "spec": { "ports": [{ "port": 80 }] } });
        for _ in 0..3 {
            // A network that is full is an error 500 in a real server too.
            let _ = ask(&mut server, Method::Post, "/api/v1/namespaces/default/services", "", &service);
        }
    }
}
