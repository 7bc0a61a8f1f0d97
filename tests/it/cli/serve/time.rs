//! The time of a simulated cluster: it passes faster than wall time, starts in the past, and is in every
//! response.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;
use windtunnel_core::clock::{Clock as _, WallClock};

use super::{Served, TestEnvironment, client, run};
use crate::cli::environment::pause;

/// Lists of objects with times of all kinds.
const LISTS: [&str; 6] = [
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/events",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/config.openshift.io/v1/clusteroperators",
    "/apis/config.openshift.io/v1/clusterversions",
];

/// Times in objects that may be in the future.
const PLANNED: [&str; 2] = ["deletionTimestamp", "expirationTimestamp"];

/// An object, with the time of the response.
async fn get(client: &kube::Client, path: &str) -> (Timestamp, Value) {
    use http_body_util::BodyExt as _;
    let answer = client.send(http::Request::get(path).body(Vec::new().into()).unwrap()).await.unwrap();
    let date = DateTimeParser::new().parse_timestamp(answer.headers()["date"].as_bytes()).unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (date, serde_json::from_slice(&body).unwrap())
}

/// The newest time in a value, in whole seconds as in `Date`, with the name of its field.
fn newest(value: &Value) -> Option<(i64, &str)> {
    match value {
        Value::Object(fields) => fields.iter().filter_map(|(name, value)| newest_of_field(name, value)).max(),
        Value::Array(items) => items.iter().filter_map(newest).max(),
        _ => None,
    }
}

fn newest_of_field<'a>(name: &'a str, value: &'a Value) -> Option<(i64, &'a str)> {
    let is_moment = name.ends_with("Time") || name.ends_with("Timestamp");
    match value.as_str() {
        Some(text) if is_moment && !PLANNED.contains(&name) => {
            text.parse::<Timestamp>().ok().map(|at| (at.as_second(), name))
        }
        _ => newest(value),
    }
}

#[test]
fn the_date_of_responses_is_cluster_time_and_not_ahead_of_wall_time() {
    let environment = TestEnvironment::new();
    let served =
        Served::start(&environment, &["--version", "4.18.3", "--speed", "600x", "--kubeconfig", "config"]);
    let updating = environment.run(&["adm", "upgrade", "--kubeconfig", "config", "--to", "4.18.4"]);
    assert_eq!(updating.code, Some(0), "{updating}");
    run(async {
        let client = client(&environment.read("config")).await;
        let (start, _) = get(&client, "/version").await;
        // Half an hour of an update in cluster time.
        loop {
            let mut last = i64::MIN;
            for path in LISTS {
                let (_, list) = get(&client, path).await;
                let (date, _) = get(&client, "/version").await;
                assert!(date < WallClock.now(), "{date} is ahead of this machine");
                let (at, field) = newest(&list).unwrap_or_else(|| panic!("no moments in {path}"));
                assert!(at <= date.as_second(), "{path}: {field} {at} is after {date}");
                last = last.max(at);
            }
            // The components write times of the same clock.
            if last >= start.as_second() + 1_800 {
                break;
            }
            pause(100);
        }
    });
    drop(served);
}

/// The value of a line in a status.
fn line<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no `{name}` in {status}")).trim()
}

#[test]
fn durations_in_a_status_end_at_cluster_time() {
    let environment = TestEnvironment::new();
    let _served =
        Served::start(&environment, &["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"]);
    let updating = environment.run(&["adm", "upgrade", "--kubeconfig", "config", "--to", "4.18.4"]);
    assert_eq!(updating.code, Some(0), "{updating}");
    run(async {
        let client = client(&environment.read("config")).await;
        let version = "/apis/config.openshift.io/v1/clusterversions/version";
        let (started, before) = loop {
            let (date, version) = get(&client, version).await;
            let entry = &version["status"]["history"][0];
            if entry["version"] == "4.18.4" {
                break (entry["startedTime"].as_str().unwrap().parse::<Timestamp>().unwrap(), date);
            }
            pause(50);
        };
        let status = environment.run(&["status", "--kubeconfig", "config"]).stdout;
        let (after, _) = get(&client, "/version").await;
        let duration = line(&status, "Duration:").split(" (").next().unwrap();
        let duration = if duration == "now" { "0s" } else { duration };
        let duration = windtunnel_core::text::parse_duration(duration).unwrap();
        // It is printed in whole seconds, or minutes.
        let slack = jiff::SignedDuration::from_mins(1);
        assert!(before.duration_since(started) - slack <= duration, "{before} {started}\n{status}");
        assert!(duration <= after.duration_since(started) + slack, "{after} {started}\n{status}");
    });
}
