//! Tests of the page: hostile text stays text, and lanes show the events of a record.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS};
use windtunnel_core::{Object, Resource};

use super::*;
use crate::record::{Entry, Event, FailureKind, Header, WriteEvent};

const HOSTILE: &str = "</script><script>alert(1)</script><!-- & \" ' \u{2028}";

/// Returns a record with entries at these seconds after its start.
fn record(entries: Vec<(i64, Event)>) -> Record {
    let epoch: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let header = Header {
        scenario: HOSTILE.to_owned(),
        ids: vec![HOSTILE.to_owned()],
        seed: 7,
        epoch,
        windtunnel: "0".to_owned(),
        ..Header::default()
    };
    let entries = entries
        .into_iter()
        .map(|(seconds, event)| Entry { at: epoch + jiff::SignedDuration::from_secs(seconds), event });
    Record::new(header, entries.collect())
}

fn write(resource: &Resource, name: &str, before: Option<Value>, after: Option<Value>) -> Event {
    Event::Write(Box::new(WriteEvent {
        by: "somebody".to_owned(),
        process: String::new(),
        verb: "update".to_owned(),
        kind: resource.kind.to_string(),
        key: resource.key("", name),
        subresource: String::new(),
        code: 200,
        message: String::new(),
        before: before.map(Object::new),
        after: after.map(Object::new),
    }))
}

fn rejection(message: &str) -> Event {
    let Event::Write(mut write) = write(&resources::CLUSTER_VERSIONS, "version", None, None) else {
        unreachable!("`write` returns a write")
    };
    (write.code, write.message) = (422, message.to_owned());
    Event::Write(write)
}

fn cluster_version(progressing: &str, message: &str) -> Value {
    json!({"metadata": {"name": "version"}, "status": {"desired": {"version": "4.2.0"}, "conditions": [
        {"type": "Available", "status": "True"},
        {"type": "Progressing", "status": progressing, "message": message},
    ]}})
}

fn operator(version: &str, progressing: &str) -> Value {
    json!({"metadata": {"name": "dns"}, "status": {
        "versions": [{"name": "operator", "version": version}],
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": progressing}],
    }})
}

/// Returns a page of one scenario, and the data of its timeline.
fn page(record: &Record) -> (String, Value) {
    let result = ScenarioResult::from_record(record, "a.yaml");
    let details = Details::of(&result, record);
    let scenario =
        Scenario { result: &result, details: Some(&details), rerun: "windtunnel run a.yaml --seed 7" };
    let page = render("windtunnel run", &[scenario]).unwrap();
    let data = packed(&page).remove(0);
    (page, data)
}

/// Returns all packed values of a page: the data of its scenarios, then the shared texts.
fn packed(page: &str) -> Vec<Value> {
    let scripts = page.split("<script type=\"text/plain\"").skip(1);
    let unpack = |script: &str| {
        let text = script.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        let bytes = STANDARD.decode(text).unwrap();
        serde_json::from_reader(flate2::read::DeflateDecoder::new(&*bytes)).unwrap()
    };
    scripts.map(unpack).collect()
}

/// Returns the spans of a lane as `from-to tone label`, in seconds.
fn spans(data: &Value, group: &str, lane: &str) -> Vec<String> {
    let named = |list: &Value, field: &str, name: &str| {
        list.as_array().unwrap().iter().find(|item| item[field] == name).cloned().unwrap()
    };
    let name = data["texts"].as_array().unwrap().iter().position(|text| text == lane).unwrap();
    let lanes = named(&data["groups"], "title", group)["lanes"].clone();
    let lane = lanes.as_array().unwrap().iter().find(|lane| lane["name"] == name).cloned().unwrap();
    let tones = ["good", "busy", "drain", "wait", "warn", "bad", "calm", "unknown"];
    let index = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let mut end = 0;
    let spans = lane["spans"].as_array().unwrap().iter().map(|span| {
        let from = end + span[0].as_i64().unwrap();
        end = from + span[1].as_i64().unwrap();
        let label = data["texts"][index(&span[4])].as_str().unwrap();
        format!("{}-{} {} {label}", from / 1000, end / 1000, tones[index(&span[2])])
    });
    spans.collect()
}

#[test]
fn escapes_all_text_of_a_cluster() {
    let failure = format!("seen: {HOSTILE}\n  pending: {HOSTILE} waits for: {HOSTILE}");
    let record = record(vec![
        (-5, write(&CLUSTER_VERSIONS, "version", None, Some(cluster_version("False", "")))),
        (
            1,
            write(
                &CLUSTER_VERSIONS,
                "version",
                Some(cluster_version("False", "")),
                Some(cluster_version("True", HOSTILE)),
            ),
        ),
        (2, rejection(HOSTILE)),
        (
            3,
            Event::Command {
                line: HOSTILE.to_owned(),
                code: 0,
                stdout: HOSTILE.to_owned(),
                stderr: HOSTILE.to_owned(),
            },
        ),
        (
            4,
            Event::Outcome {
                text: HOSTILE.to_owned(),
                failure: Some(failure),
                kind: None,
                held_before: false,
            },
        ),
    ]);
    let (page, data) = page(&record);
    assert!(!page.contains("alert(1)<"), "{page}");
    assert!(!page.contains("<!-- &"), "{page}");
    // The data still contains the unchanged text.
    assert!(data["texts"].as_array().unwrap().iter().any(|text| text == HOSTILE));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;"), "{page}");
}

#[test]
fn texts_of_several_scenarios_are_written_once() {
    let record = record(vec![(1, rejection("the same text")), (2, rejection("the same text"))]);
    let result = ScenarioResult::from_record(&record, "a.yaml");
    let details = Details::of(&result, &record);
    let other = self::record(vec![(1, rejection("the same text")), (2, rejection("another"))]);
    let other = Details::of(&result, &other);
    let scenario = |details| Scenario { result: &result, details: Some(details), rerun: "" };
    let page = render("windtunnel run", &[scenario(&details), scenario(&other)]).unwrap();
    let values = packed(&page);
    let [first, second, shared] = values.as_slice() else { panic!("{values:?}") };
    assert_eq!((&shared["texts"][0], &first["texts"]), (&json!(""), &json!([])));
    assert_eq!(second["texts"], json!(["rejected 422: another"]));
    let texts = |data: &Value| -> Vec<String> {
        let own = data["texts"].as_array().unwrap().iter();
        let all: Vec<&Value> = shared["texts"].as_array().unwrap().iter().chain(own).collect();
        let indices = data["events"]["text"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap());
        indices.map(|index| all[usize::try_from(index).unwrap()].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(first), ["rejected 422: the same text", "rejected 422: the same text"]);
    assert_eq!(texts(second), ["rejected 422: the same text", "rejected 422: another"]);
}

#[test]
fn failed_scenarios_come_first_and_each_state_is_counted() {
    let result = |name: &str| ScenarioResult::not_started(name, "a.yaml", &[], 1);
    let failed = ScenarioResult { failure: Some("no".to_owned()), ..result("failed") };
    let flake = ScenarioResult { passed_with: Some(2), ..failed.clone() };
    let tagged = ScenarioResult { tags: vec!["slow".to_owned(), "etcd".to_owned()], ..result("passed") };
    let skipped = ScenarioResult::skipped("skipped", "a.yaml", &[], 1, "no such kind");
    let results = [tagged, skipped, flake, failed];
    let scenarios: Vec<_> =
        results.iter().map(|result| Scenario { result, details: None, rerun: "" }).collect();
    let page = render("windtunnel run", &scenarios).unwrap();
    let ids: Vec<&str> =
        page.split("class=\"scenario ").skip(1).map(|rest| &rest[..rest.find("\" data").unwrap()]).collect();
    assert_eq!(ids, ["fail\" id=\"s4", "flake\" id=\"s3", "skip\" id=\"s2", "pass\" id=\"s1"]);
    assert!(page.contains("<title>windtunnel run: 1 passed, 1 failed, 1 flaky, 1 skipped</title>"), "{page}");
    assert!(
        page.contains("data-tags=\"slow etcd\"") && page.contains("<option value=\"etcd\">etcd (1)"),
        "{page}"
    );
    assert!(page.contains("Skipped: no such kind"), "{page}");
}

#[test]
fn the_cursor_has_the_status_at_each_moment() {
    let version = |progressing: &str| {
        let mut version = cluster_version(progressing, "Working towards 4.2.0: 1 of 9 done (11% complete)");
        version["status"]["history"] =
            json!([{"state": "Partial", "version": "4.2.0", "startedTime": "2024-01-01T00:00:00Z"}]);
        version
    };
    let record = record(vec![
        (-9, write(&CLUSTER_VERSIONS, "version", None, Some(version("False")))),
        (-9, write(&CLUSTER_OPERATORS, "dns", None, Some(operator("4.1.0", "False")))),
        (600, write(&CLUSTER_VERSIONS, "version", Some(version("False")), Some(version("True")))),
        (1200, Event::Outcome { text: "x".to_owned(), failure: None, kind: None, held_before: false }),
    ]);
    let (_, data) = page(&record);
    let statuses = data["statuses"].as_array().unwrap();
    let line = |status: &Value| {
        let index = usize::try_from(status[1][0].as_u64().unwrap()).unwrap();
        data["texts"][index].as_str().unwrap().to_owned()
    };
    assert_eq!((&statuses[0][0], line(&statuses[0])), (&json!(0), "The cluster is not updating.".to_owned()));
    assert_eq!(line(statuses.last().unwrap()), "= Control Plane =");
    let moments: Vec<i64> = statuses.iter().map(|status| status[0].as_i64().unwrap()).collect();
    assert!(moments.is_sorted() && moments.iter().filter(|at| **at < 600_000).count() == 1, "{moments:?}");
}

#[test]
fn lanes_show_the_states_of_objects_over_time() {
    let (calm, busy) = (cluster_version("False", ""), cluster_version("True", "Working"));
    let record = record(vec![
        (-9, write(&CLUSTER_VERSIONS, "version", None, Some(calm.clone()))),
        (-9, write(&CLUSTER_OPERATORS, "dns", None, Some(operator("4.1.0", "False")))),
        (0, Event::Step { text: "advance 1m".to_owned() }),
        (10, write(&CLUSTER_VERSIONS, "version", Some(calm.clone()), Some(busy.clone()))),
        (
            20,
            write(
                &CLUSTER_OPERATORS,
                "dns",
                Some(operator("4.1.0", "False")),
                Some(operator("4.1.0", "True")),
            ),
        ),
        (
            30,
            write(
                &CLUSTER_OPERATORS,
                "dns",
                Some(operator("4.1.0", "True")),
                Some(operator("4.2.0", "False")),
            ),
        ),
        (40, write(&CLUSTER_VERSIONS, "version", Some(busy), Some(calm))),
        (60, Event::Outcome { text: "advance 1m".to_owned(), failure: None, kind: None, held_before: false }),
    ]);
    let (page, data) = page(&record);
    assert_eq!(spans(&data, "Scenario", "steps"), ["0-60 good advance 1m"]);
    assert_eq!(spans(&data, "ClusterVersion", "Available"), ["0-60 good True"]);
    assert_eq!(
        spans(&data, "ClusterVersion", "Progressing"),
        ["0-10 calm False", "10-40 busy True", "40-60 calm False"]
    );
    assert_eq!(
        spans(&data, "ClusterOperators", "dns"),
        ["0-20 wait 4.1.0 waits", "20-30 busy 4.1.0 Progressing", "30-60 good 4.2.0"]
    );
    assert!(
        page.contains("<span class=\"status\">PASS</span>") && data["steps"][0]["text"] == "advance 1m",
        "{page}"
    );
    assert_eq!(self::page(&record).0, page);
}

#[test]
fn a_failure_lists_pending_waits_and_merged_rejections() {
    let record = record(vec![
        (1, rejection("status.a: Unsupported value")),
        (2, rejection("status.a: Unsupported value")),
        (
            3,
            Event::Outcome {
                text: "expect x".to_owned(),
                failure: Some("seen: y\n  pending: dns waits for: a pod".to_owned()),
                kind: Some(FailureKind::Product),
                held_before: false,
            },
        ),
    ]);
    let result =
        ScenarioResult { failed_at: Some((12, 3)), ..ScenarioResult::from_record(&record, "a.yaml") };
    let found = failure::explain(&result, Some(&record), &[]).unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "place": "a.yaml:12:3",
            "kind": "product",
            "message": "expect x: seen: y",
            "pending": [["dns", "a pod"]],
            "last": [],
            "rejections": [{
                "at": "0:00:02",
                "object": "update ClusterVersion/version",
                "by": "somebody",
                "text": "422 status.a: Unsupported value",
                "times": 2,
            }],
            "status": null,
        })
    );
}

#[test]
fn the_page_has_the_lines_of_the_run_as_data() {
    let mut record = record(vec![(4, rejection("no"))]);
    let line = |seconds: i64, text: &str| windtunnel_core::log::LogLine {
        at: record.header.epoch + jiff::SignedDuration::from_secs(seconds),
        text: text.to_owned(),
    };
    record.logs = vec![crate::record::ContainerLog {
        namespace: "ns".to_owned(),
        pod: HOSTILE.to_owned(),
        container: "c".to_owned(),
        restarts: 0,
        lines: vec![line(-3, "set-up"), line(2, HOSTILE)],
    }];
    let (page, data) = page(&record);
    assert!(!page.contains("alert(1)<"), "{page}");
    let text = data["texts"].as_array().unwrap().iter().position(|text| text == HOSTILE).unwrap();
    assert_eq!(data["logs"], json!({ "sources": [format!("{HOSTILE}/c")], "lines": [[2000, 0, text]] }));
}
