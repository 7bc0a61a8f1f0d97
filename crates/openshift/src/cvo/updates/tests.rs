//! Tests of the available-updates loop.

use serde_json::{Value, json};
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::{Change, ChangeKind};

use super::*;
use crate::graph::{Channel, ConditionalEdges, Edge, MatchingRule, ServiceFault};

const OWN: &str = "4.14.1";
const INTERVAL: SignedDuration = SignedDuration::from_mins(3);
/// 1 on clusters in channel `fast`, 0 on others, empty without a ClusterVersion.
const IN_FAST: &str = r#"group(cluster_version_available_updates{channel="fast"}) or 0 * group(cluster_version_available_updates)"#;

/// An available-updates loop with its environment and cluster.
struct Bench {
    environment: Environment,
    view: View,
    updates: Updates,
    now: Time,
}

fn release_of(version: &str) -> Release {
    Release::find(&version.parse().unwrap()).unwrap()
}

fn edges(to: &[&str]) -> Vec<Edge> {
    let edge = |to: &&str| Edge { from: OWN.parse().unwrap(), to: to.parse().unwrap() };
    to.iter().map(edge).collect()
}

fn risky(to: &[&str], risks: &[(&str, &[MatchingRule])]) -> ConditionalEdges {
    let risk = |(name, rules): &(&str, &[MatchingRule])| Risk {
        name: (*name).to_owned(),
        url: format!("https://example.com/{name}"),
        message: format!("{name} happens."),
        rules: rules.to_vec(),
    };
    ConditionalEdges { edges: edges(to), risks: risks.iter().map(risk).collect() }
}

impl Bench {
    fn new() -> Self {
        let mut environment = Environment::default();
        for version in [OWN, "4.14.8", "4.14.9", "4.15.0"] {
            let release = release_of(version);
            environment.recommended.push(release.version.clone());
            environment.releases.insert(release.version.clone(), release);
        }
        let updates = Updates::new(INTERVAL);
        let mut bench = Self {
            environment,
            view: View::default(),
            updates,
            now: "2024-01-01T00:00:00Z".parse().unwrap(),
        };
        bench.spec(json!({ "channel": "stable" }));
        bench
    }

    fn spec(&mut self, mut spec: Value) {
        if spec.get("clusterID").is_none() {
            spec["clusterID"] = json!("7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40");
        }
        let object = Object::new(json!({ "metadata": { "name": "version" }, "spec": spec, "status": {} }));
        let key = CLUSTER_VERSIONS.key("", "version");
        self.view.apply(&Change { key, kind: ChangeKind::Modified, object, old: None });
    }

    fn cluster_version(&self) -> Object {
        self.view.cluster_version().unwrap().clone()
    }

    /// Runs after this number of seconds. Returns whether there are changes to report.
    fn after(&mut self, seconds: i64) -> bool {
        self.now += SignedDuration::from_secs(seconds);
        let object = self.cluster_version();
        self.updates.run(&self.environment, &self.view, &[], &object, &release_of(OWN), self.now)
    }

    fn status(&self) -> Value {
        let mut status = json!({});
        self.updates.write_status(&self.cluster_version(), &mut status);
        status
    }

    fn available(&self) -> Vec<String> {
        let status = self.status();
        let list = status["availableUpdates"].as_array().cloned().unwrap_or_default();
        list.iter().map(|update| update["version"].as_str().unwrap().to_owned()).collect()
    }

    /// `version status reason` of each conditional update.
    fn conditional(&self) -> Vec<String> {
        let status = self.status();
        let list = status["conditionalUpdates"].as_array().cloned().unwrap_or_default();
        let shown = list.iter().map(|update| {
            let condition = Condition::from_value(&update["conditions"][0]);
            let version = update["release"]["version"].as_str().unwrap();
            format!("{version} {} {}", condition.status, condition.reason)
        });
        shown.collect()
    }

    fn retrieved(&self) -> (String, String) {
        let Condition { reason, message, .. } =
            self.updates.write_status(&self.cluster_version(), &mut json!({})).unwrap();
        (reason, message)
    }

    fn answers(&mut self, channel: &str, answer: Channel) {
        self.environment.service.channels.get_or_insert_default().insert(channel.to_owned(), answer);
    }
}

fn all() -> Channel {
    Channel::Lists([OWN, "4.14.8", "4.14.9", "4.15.0"].iter().map(|v| v.parse().unwrap()).collect())
}

#[test]
fn every_reason_has_its_message() {
    let check = |spec: Value, answer: Channel, reason: &str, message: &str| {
        let mut bench = Bench::new();
        bench.answers("stable", answer);
        bench.spec(spec);
        assert!(bench.after(0));
        assert_eq!(bench.retrieved(), (reason.to_owned(), message.to_owned()));
    };
    let stable = || json!({ "channel": "stable" });
    check(stable(), all(), "", "");
    check(json!({}), all(), "NoChannel", "The update channel has not been configured.");
    check(
        json!({ "channel": "stable", "clusterID": "x" }),
        all(),
        "InvalidID",
        "invalid cluster ID: invalid UUID length: 1",
    );
    check(
        json!({ "channel": "a b", "upstream": "https://updates.example.com/graph" }),
        all(),
        "VersionNotFound",
        "Unable to retrieve available updates: currently reconciling cluster version 4.14.1 not found in the \"a b\" channel",
    );
    check(
        json!({ "channel": "stable", "upstream": "https://updates.example.com:8443/graph" }),
        Channel::Fails(ServiceFault::Unreachable),
        "RemoteFailed",
        "Unable to retrieve available updates: Get \"https://updates.example.com:8443/graph?arch=amd64&channel=stable&id=7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40&version=4.14.1\": dial tcp: lookup updates.example.com on 10.0.0.2:53: no such host",
    );
    check(
        json!({ "channel": "stable", "upstream": "not a url" }),
        all(),
        "RemoteFailed",
        "Unable to retrieve available updates: Get \"not%20a%20url?arch=amd64&channel=stable&id=7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40&version=4.14.1\": unsupported protocol scheme \"\"",
    );
    check(
        json!({ "channel": "stable", "upstream": "ftp://updates.example.com/graph" }),
        all(),
        "RemoteFailed",
        "Unable to retrieve available updates: Get \"ftp://updates.example.com/graph?arch=amd64&channel=stable&id=7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40&version=4.14.1\": unsupported protocol scheme \"ftp\"",
    );
    check(
        stable(),
        Channel::Fails(ServiceFault::ServerError),
        "ResponseFailed",
        "Unable to retrieve available updates: unexpected HTTP status: 500 Internal Server Error",
    );
    check(
        stable(),
        Channel::Fails(ServiceFault::InvalidJson),
        "ResponseInvalid",
        "Unable to retrieve available updates: invalid character '<' looking for beginning of value",
    );
}

#[test]
fn requests_updates_after_the_interval_and_when_the_spec_changes() {
    let mut bench = Bench::new();
    assert!(bench.after(0));
    assert_eq!(bench.available(), ["4.15.0", "4.14.9", "4.14.8"]);
    assert_eq!(bench.updates.wake_at(), Some(bench.now + INTERVAL));
    bench.environment.recommended.retain(|version| version.to_string() != "4.14.9");
    assert!(!bench.after(179));
    assert_eq!(bench.available(), ["4.15.0", "4.14.9", "4.14.8"]);
    assert!(bench.after(1));
    assert_eq!(bench.available(), ["4.15.0", "4.14.8"]);
    bench.spec(json!({ "channel": "other" }));
    let mut status = json!({ "availableUpdates": "stored" });
    assert_eq!(bench.updates.write_status(&bench.cluster_version(), &mut status), None);
    assert_eq!(status["availableUpdates"], "stored", "the last request was for another channel");
    assert!(bench.after(1), "a change of channel causes a request at once");
    assert_eq!(bench.available(), ["4.15.0", "4.14.8"]);
    bench.spec(json!({ "channel": "other", "upstream": "https://updates.example.com" }));
    assert!(bench.after(1), "and so does a change of upstream");
}

#[test]
fn keeps_the_last_updates_for_a_day_while_the_service_fails() {
    let mut bench = Bench::new();
    bench.answers("stable", all());
    bench.after(0);
    bench.answers("stable", Channel::Fails(ServiceFault::ServerError));
    bench.after(180);
    assert_eq!((bench.retrieved().0.as_str(), bench.available().len()), ("ResponseFailed", 3));
    bench.after(86_400 - 181);
    assert_eq!(bench.available().len(), 3);
    bench.after(181);
    assert_eq!(bench.available().len(), 0);
    // Updates of another channel are not kept.
    bench.answers("stable", all());
    bench.after(180);
    assert_eq!(bench.available().len(), 3);
    bench.answers("gone", Channel::Fails(ServiceFault::Unreachable));
    bench.spec(json!({ "channel": "gone" }));
    bench.after(1);
    assert_eq!(bench.available().len(), 0);
}

#[test]
fn conditional_updates_are_available_if_no_risk_applies() {
    let mut bench = Bench::new();
    let query = MatchingRule::PromQl(IN_FAST.to_owned());
    bench.environment.service.conditional = vec![
        risky(&["4.14.8"], &[("InFast", std::slice::from_ref(&query))]),
        risky(&["4.15.0"], &[("InFast", &[query]), ("Everyone", &[MatchingRule::Always])]),
    ];
    bench.after(0);
    assert_eq!(bench.conditional(), ["4.15.0 False Everyone", "4.14.8 True AsExpected"]);
    assert_eq!(bench.available(), ["4.14.9", "4.14.8"]);
    let update = bench.status()["conditionalUpdates"][1].clone();
    assert_eq!(
        update["risks"][0]["matchingRules"],
        json!([{ "type": "PromQL", "promql": { "promql": IN_FAST } }])
    );
    assert_eq!(update["release"]["url"], release_of("4.14.8").url);
    bench.spec(json!({ "channel": "fast" }));
    bench.after(1);
    assert_eq!(bench.conditional()[1], "4.14.8 True AsExpected", "an answer is cached for an hour");
    bench.after(3_600);
    assert_eq!(bench.conditional(), ["4.15.0 False MultipleReasons", "4.14.8 False InFast"]);
    assert_eq!(bench.available(), ["4.14.9"]);
}

#[test]
fn a_delayed_query_is_made_a_second_later() {
    let mut bench = Bench::new();
    let rule = |text: &str| [MatchingRule::PromQl(text.to_owned())];
    bench.environment.service.conditional = vec![
        risky(&["4.14.9"], &[("A", &rule("0 * group(cluster_version_available_updates)"))]),
        risky(&["4.14.8"], &[("B", &rule("group(nothing)"))]),
        risky(&["4.15.0"], &[("C", &rule("group(cluster_version_available_updates)"))]),
    ];
    bench.after(0);
    let waiting = ["4.15.0 False C", "4.14.9 Unknown EvaluationFailed", "4.14.8 Unknown EvaluationFailed"];
    assert_eq!(bench.conditional(), waiting);
    assert_eq!(bench.updates.wake_at(), Some(bench.now + SignedDuration::from_secs(1)));
    assert!(
        bench.status()["conditionalUpdates"][1]["conditions"][0]["message"]
            .as_str()
            .unwrap()
            .contains("client-side throttling")
    );
    assert!(bench.after(1));
    assert!(bench.after(1));
    let done = ["4.15.0 False C", "4.14.9 True AsExpected", "4.14.8 Unknown EvaluationFailed"];
    assert_eq!(bench.conditional(), done);
    let failed = bench.status()["conditionalUpdates"][2]["conditions"][0]["message"].clone();
    assert_eq!(
        failed,
        "Exposure to B is unknown due to an evaluation failure: invalid PromQL result length must be one, but is 0\nB happens. https://example.com/B"
    );
    assert!(!bench.after(1), "no query is delayed any more");
}

#[test]
fn omits_conditional_updates_that_the_api_cannot_represent() {
    let check = |conditional: Vec<ConditionalEdges>, versions: &[&str], available: &[&str]| {
        let mut bench = Bench::new();
        bench.environment.service.conditional = conditional;
        bench.after(0);
        assert_eq!((bench.conditional(), bench.available()), (own(versions), own(available)));
    };
    let always: &[MatchingRule] = &[MatchingRule::Always];
    check(
        vec![risky(&["4.14.8", "4.15.0"], &[("A", always)]), risky(&["4.15.0"], &[("B", always)])],
        &["4.14.8 False A"],
        &["4.14.9"],
    );
    check(vec![risky(&["4.14.8"], &[("A", always), ("B", &[])])], &[], &["4.15.0", "4.14.9"]);
    let other = MatchingRule::Other("Later".to_owned());
    let several = &[other.clone(), MatchingRule::Always];
    check(vec![risky(&["4.14.8"], &[("A", several)])], &["4.14.8 False A"], &["4.15.0", "4.14.9"]);
    check(vec![risky(&["4.14.8"], &[("A", &[other])])], &[], &["4.15.0", "4.14.9"]);
    let mut bench = Bench::new();
    bench.environment.service.conditional = vec![risky(&["4.14.99"], &[("A", always)])];
    bench.after(0);
    let message = "Unable to retrieve available updates: no node for conditional update 4.14.99";
    assert_eq!(bench.retrieved(), ("ResponseInvalid".to_owned(), message.to_owned()));
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn desired_has_the_channels_of_a_release_in_the_graph() {
    let mut bench = Bench::new();
    let (now, next) = (release_of(OWN), release_of("4.14.8"));
    let bare = json!({ "version": OWN, "image": now.image, "url": now.url });
    assert_eq!(bench.updates.desired(&now), bare);
    bench.answers("stable", all());
    bench.answers("fast", all());
    bench.after(0);
    for release in [&now, &next] {
        assert_eq!(bench.updates.desired(release)["channels"], json!(["fast", "stable"]));
    }
    assert_eq!(bench.updates.desired(&release_of("4.13.1")).get("channels"), None);
}

#[test]
fn keeps_the_stored_updates_if_the_upstream_is_no_url() {
    let mut bench = Bench::new();
    bench.after(0);
    assert!(bench.status()["availableUpdates"].is_array());
    bench.spec(json!({ "channel": "stable", "upstream": "http://a b/" }));
    bench.after(0);
    let mut status = json!({ "availableUpdates": "as before" });
    assert_eq!(bench.updates.write_status(&bench.cluster_version(), &mut status), None);
    assert_eq!(status["availableUpdates"], "as before");
}

#[test]
fn accepts_every_valid_form_of_a_cluster_id() {
    let id = "7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40";
    let retrieved = |spelled: &str| {
        let mut bench = Bench::new();
        bench.answers("stable", Channel::Fails(ServiceFault::Unreachable));
        bench.spec(json!({ "channel": "stable", "clusterID": spelled }));
        bench.after(0);
        bench.retrieved()
    };
    for spelled in [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}"), format!("urn:uuid:{id}")] {
        let (reason, message) = retrieved(&spelled);
        assert_eq!(reason, "RemoteFailed", "{spelled}");
        assert!(message.contains(&format!("&id={id}&")), "{message}");
    }
    for (wrong, detail) in [
        ("7e0b4f5c-3d2a", "invalid UUID length: 13".to_owned()),
        (&*id.replace('7', "g"), "invalid UUID format".to_owned()),
        (&*format!("urn-uuid:{id}"), "invalid urn prefix: \"urn-uuid:\"".to_owned()),
    ] {
        assert_eq!(retrieved(wrong), ("InvalidID".to_owned(), format!("invalid cluster ID: {detail}")));
    }
}
