//! A server whose data folder is on a full disk, and a server with a damaged data file.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use super::{Served, TestEnvironment, client, run};
use crate::cli::places::SmallDisk;
use crate::skipped::skipped;

fn map(number: usize) -> ConfigMap {
    let map = json!({ "metadata": { "name": format!("m{number}") }, "data": { "k": "x".repeat(20_000) } });
    serde_json::from_value(map).unwrap()
}

/// Creates ConfigMaps until one is rejected. Returns their number, and the highest resource version.
async fn fill(maps: &Api<ConfigMap>) -> (usize, u64) {
    let mut last = 0;
    for number in 0..1_000 {
        match maps.create(&PostParams::default(), &map(number)).await {
            Ok(created) => last = created.metadata.resource_version.unwrap().parse().unwrap(),
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 500, "{status}");
                assert!(status.message.contains("No space left on device"), "{status}");
                return (number, last);
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the disk never became full")
}

async fn probe(client: &kube::Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request_text(request).await.map_err(|error| error.to_string())
}

#[test]
fn a_server_on_a_full_disk_is_read_only_until_it_restarts() {
    use futures::StreamExt as _;
    let environment = TestEnvironment::new();
    let disk = environment.work().join("disk");
    let Some(_disk) = SmallDisk::mount(&disk) else { return skipped("right to mount a disk") };
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![1; 400_000]).unwrap();
    let arguments = ["--data-dir", "disk/data", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    let config = environment.read("config");
    let (created, last) = run(async {
        let client = client(&config).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let start = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let watch = maps.watch(&WatchParams::default(), &start).await.unwrap();
        let (created, last) = fill(&maps).await;
        let count = async || maps.list(&ListParams::default()).await.unwrap().items.len();
        assert!(created > 20, "{created}");
        assert_eq!(count().await, created);
        for path in ["/readyz", "/livez", "/healthz"] {
            let why = probe(&client, path).await.unwrap_err();
            assert!(why.contains("[-]etcd failed: reason withheld"), "{path}: {why}");
        }
        let why = probe(&client, "/readyz/etcd").await.unwrap_err();
        assert!(why.contains("No space left on device"), "{why}");
        assert!(maps.create(&PostParams::default(), &map(created)).await.is_err());
        assert_eq!(count().await, created);
        fs::remove_file(&ballast).unwrap();
        let status = maps.delete("m0", &DeleteParams::default()).await.unwrap_err().to_string();
        assert!(status.contains("No space left on device"), "{status}");
        assert!(probe(&client, "/readyz").await.is_err());
        // The watch saw each created object once, and no rejected one.
        let mut events = watch
            .map(|event| match event.unwrap() {
                WatchEvent::Added(map) => map.metadata.name.unwrap(),
                other => panic!("{other:?}"),
            })
            .boxed();
        let seen: Vec<String> = events.by_ref().take(created).collect().await;
        let next = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
        assert!(next.is_err(), "{next:?}");
        assert_eq!(seen, (0..created).map(|number| format!("m{number}")).collect::<Vec<_>>());
        (created, last)
    });
    served.signal("-TERM");
    let (status, _, stderr) = served.end();
    assert!(status.success());
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(
        lines[0].contains("cannot write to the data folder: disk/data: No space left on device"),
        "{stderr}"
    );
    let _served = Served::start(&environment, &arguments);
    run(async {
        let client = client(&environment.read("config")).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        assert_eq!(probe(&client, "/readyz").await.as_deref(), Ok("ok"));
        let found = maps.list(&ListParams::default()).await.unwrap().items;
        let named = |number| found.iter().any(|map| map.metadata.name == Some(format!("m{number}")));
        assert!((0..created).all(named), "{} of {created}", found.len());
        let after = maps.create(&PostParams::default(), &map(1_000)).await.unwrap();
        assert!(after.metadata.resource_version.unwrap().parse::<u64>().unwrap() > last);
    });
}

#[test]
fn a_damaged_data_file_is_rejected_and_left_unchanged() {
    let environment = TestEnvironment::new();
    let served = Served::start(&environment, &["--data-dir", "data"]);
    served.signal("-TERM");
    assert!(served.end().0.success());
    let path = environment.work().join("data/windtunnel.redb");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let output = environment.run(&["serve", "--port", "0", "--data-dir", "data"]);
    let expected = format!(
        "error: data/windtunnel.redb: the file is damaged: it has {} bytes, but its header says {}: it was \
         truncated; restore a backup of the file, or use another --data-dir\n",
        whole.len() / 2,
        whole.len()
    );
    assert_eq!((output.code, output.stderr), (Some(2), expected));
    assert_eq!(fs::read(&path).unwrap().len(), whole.len() / 2);
    fs::write(&path, &whole).unwrap();
    let _served = Served::start(&environment, &["--data-dir", "data"]);
}
