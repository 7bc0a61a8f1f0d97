//! Tests of the record's file form.

use serde_json::{Map, Value, json};
use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;
use windtunnel_core::rng::{Stream, Streams};
use windtunnel_core::{Object, resources};

use super::{
    ActiveAlerts, ContainerLog, Entry, Event, FailureKind, Header, Record, RecordError, RefusedRequest,
    RuleRights, UserRights, WriteEvent,
};

fn record(events: Vec<Event>) -> Record {
    let epoch: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let header = Header {
        scenario: "s".to_owned(),
        ids: vec!["OTA-1".to_owned()],
        seed: u64::MAX,
        epoch,
        windtunnel: "0.1.0".to_owned(),
        ..Header::default()
    };
    let entries = events.into_iter().enumerate().map(|(index, event)| Entry {
        at: epoch + jiff::SignedDuration::from_millis(i64::try_from(index).unwrap() * 1500),
        event,
    });
    Record::new(header, entries.collect())
}

fn write(verb: &str, code: u16, before: Option<&Object>, after: Option<&Object>) -> Event {
    Event::Write(Box::new(WriteEvent {
        by: "a".to_owned(),
        process: String::new(),
        verb: verb.to_owned(),
        kind: "Pod".to_owned(),
        key: resources::PODS.key("ns", "p"),
        subresource: String::new(),
        code,
        message: if code < 400 { String::new() } else { "no".to_owned() },
        before: before.cloned(),
        after: after.cloned(),
    }))
}

fn states(record: &Record) -> Vec<(Option<Object>, Option<Object>)> {
    let writes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) => Some((write.before.clone(), write.after.clone())),
        _ => None,
    });
    writes.collect()
}

/// Writes, parses and writes again; returns the lines.
fn check_round_trip(record: &Record) -> String {
    let lines = record.to_lines();
    let parsed = Record::parse(&lines).unwrap();
    assert_eq!(parsed.to_lines(), lines);
    assert_eq!(states(&parsed), states(record));
    assert_eq!(parsed.header, record.header);
    assert_eq!(parsed.logs, record.logs);
    assert_eq!(parsed.rights, record.rights);
    assert_eq!(parsed.hash(), record.hash());
    lines
}

#[test]
fn states_of_an_object_are_written_as_patches() {
    let made = Object::new(json!({"spec": {"x": 1, "y": [1]}, "status": {}}));
    let changed = Object::new(json!({"spec": {"y": [1, null]}, "status": {"phase": "Running"}}));
    let nulled = Object::new(json!({"spec": {"y": [1, null], "z": null}, "status": {"phase": "Running"}}));
    let foreign = Object::new(json!({"other": true}));
    let record = record(vec![
        write("create", 201, None, Some(&made)),
        write("update", 200, Some(&made), Some(&changed)),
        write("update", 409, Some(&changed), None),
        write("patch", 200, Some(&changed), Some(&nulled)),
        write("patch", 200, Some(&nulled), Some(&nulled)),
        write("delete", 200, Some(&nulled), None),
        write("patch", 404, None, None),
        write("patch", 422, Some(&foreign), None),
        Event::Step { text: "advance 1m".to_owned() },
        Event::Outcome { text: "advance 1m".to_owned(), failure: None, kind: None, held_before: false },
        Event::Outcome {
            text: "expect".to_owned(),
            failure: Some("it \"was\"\nnot".to_owned()),
            kind: Some(FailureKind::Product),
            held_before: false,
        },
        Event::Command {
            line: "oc adm upgrade".to_owned(),
            code: 1,
            stdout: "a\n".to_owned(),
            stderr: "error: b\n".to_owned(),
        },
        Event::Kubernetes { minor: 27 },
        Event::Process { program: "p".to_owned(), pod: "ns/p".to_owned(), started: true },
        Event::Alert(Box::new(Alert {
            labels: [("alertname".to_owned(), "A".to_owned())].into(),
            annotations: [("summary".to_owned(), "all is lost".to_owned())].into(),
            state: AlertState::Firing,
        })),
    ]);
    insta::assert_snapshot!(check_round_trip(&record));
}

#[test]
fn logs_come_after_the_entries() {
    let log = |pod: &str, restarts, lines: &[&str]| {
        let at = "2024-01-01T00:00:01.5Z".parse().unwrap();
        let lines = lines.iter().map(|text| LogLine { at, text: (*text).to_owned() }).collect();
        let (namespace, pod, container) = ("ns".to_owned(), pod.to_owned(), "c".to_owned());
        ContainerLog { namespace, pod, container, restarts, lines }
    };
    let mut record = record(vec![Event::Step { text: "advance 1m".to_owned() }]);
    record.logs = vec![log("p", 0, &["a \"b\"", "c"]), log("q", 2, &["d"])];
    let lines = check_round_trip(&record);
    let tail: Vec<&str> = lines.lines().skip(2).collect();
    assert_eq!(
        tail,
        [
            r#"{"log":"p","namespace":"ns","container":"c","lines":[[1704067201500,"a \"b\""],[1704067201500,"c"]]}"#,
            r#"{"log":"q","namespace":"ns","container":"c","restarts":2,"lines":[[1704067201500,"d"]]}"#,
        ]
    );
    let invalid = lines.replace("1704067201500,\"d\"", "9223372036854775807,\"d\"");
    let error = Record::parse(&invalid).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 4: expected milliseconds since 1970, up to the year 9999; found 9223372036854775807"
    );
}

#[test]
fn a_parsed_record_shares_its_objects() {
    let made = Object::new(json!({"a": 1}));
    let lines = record(vec![
        write("create", 201, None, Some(&made)),
        write("update", 409, Some(&made), None),
        write("update", 200, Some(&made), Some(&made)),
    ])
    .to_lines();
    let states = states(&Record::parse(&lines).unwrap());
    let made = states[0].1.as_ref().unwrap();
    for state in [&states[1].0, &states[2].0, &states[2].1] {
        assert!(made.is_same(state.as_ref().unwrap()));
    }
}

/// Returns a small random value with every type of JSON.
fn value(stream: &mut Stream, depth: u64) -> Value {
    match stream.between(0, if depth == 0 { 3 } else { 6 }) {
        0 => Value::Null,
        1 => json!(stream.between(0, 2)),
        2 => json!(stream.suffix(1)),
        // Fractions with few digits: for many digits, serde_json does not parse the last one exactly.
        3 => json!(f64::from(u32::try_from(stream.between(0, 9)).unwrap()) + 0.25),
        4 => (0..stream.between(0, 2)).map(|_| value(stream, depth - 1)).collect(),
        _ => object(stream, depth - 1),
    }
}

fn object(stream: &mut Stream, depth: u64) -> Value {
    let fields = (0..stream.between(0, 4)).map(|_| {
        let name = ["a", "b", "c", "d"][usize::try_from(stream.between(0, 3)).unwrap()];
        (name.to_owned(), value(stream, depth))
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

#[test]
fn any_history_survives_a_round_trip() {
    for seed in 0..300 {
        let mut stream = Streams::new(seed).stream("record");
        let mut state: Option<Object> = None;
        let mut events = Vec::new();
        for _ in 0..12 {
            let event = match stream.between(0, 9) {
                0 => write("delete", 200, state.take().as_ref(), None),
                1 => write("update", 409, state.as_ref(), None),
                2 => write("update", 200, None, Some(&Object::new(object(&mut stream, 2)))),
                _ => {
                    let next = Object::new(object(&mut stream, 3));
                    let before = state.replace(next);
                    write("update", 200, before.as_ref(), state.as_ref())
                }
            };
            events.push(event);
        }
        check_round_trip(&record(events));
    }
}

#[test]
fn an_invalid_line_is_reported_with_its_number() {
    let header = record(Vec::new()).to_lines();
    let check = |text: &str, line: usize, expected: &str| {
        assert_eq!(
            Record::parse(text).map(|record| record.entries.len()),
            Err(RecordError { line, expected: expected.to_owned() })
        );
    };
    check("", 1, "the header of a record: EOF while parsing a value at column 0");
    check("{}\n", 1, "the header of a record: missing field `windtunnel` at column 2");
    let entry = |line: &str| format!("{header}{{\"at\":0,\"step\":\"x\"}}\n{line}\n");
    check(
        &entry("{\"at\":0}"),
        3,
        "exactly one of `write`, `step`, `outcome`, `command`, `kubernetes`, `alert`, `process`, `fault`",
    );
    check(&entry("{\"at\":"), 3, "an entry of a record: EOF while parsing a value at column 6");
    check(
        &entry("{\"at\":1e999,\"step\":\"\"}"),
        3,
        "an entry of a record: number out of range at column 11",
    );
    check(
        &entry("{\"at\":9223372036854775807,\"step\":\"\"}"),
        3,
        "milliseconds since 1970, up to the year 9999; found 9223372036854775807",
    );
    let write = r#""by":"a","verb":"update","kind":"Pod","plural":"pods","name":"p","code":200"#;
    let writes = |rest: &str| entry(&format!("{{\"at\":0,\"write\":{{{write}{rest}}}}}"));
    check(&writes(r#","patch":{}"#), 3, "`object`: no earlier line created pods/p");
    check(&writes(r#","patch":{},"object":{}"#), 3, "`object` or `patch`, not both");
    check(&writes(""), 3, "`created`, `gone`, `code` and the object to be consistent");
    check(
        &writes(r#","gone":true,"object":{}"#),
        3,
        "`created`, `gone`, `code` and the object to be consistent",
    );
}

#[test]
fn a_truncated_file_never_panics() {
    let made = Object::new(json!({"a": "ä"}));
    let lines =
        record(vec![write("create", 201, None, Some(&made)), write("delete", 200, Some(&made), None)])
            .to_lines();
    let valid =
        (0..=lines.len()).filter_map(|end| lines.get(..end)).filter(|part| Record::parse(part).is_ok());
    // The header, each of the two entries, and each of the three with its line break.
    assert_eq!(valid.count(), 6);
}

#[test]
fn an_active_alert_has_the_time_of_its_first_state() {
    let alert = |name: &str, state| {
        let labels = [("alertname".to_owned(), name.to_owned())].into();
        Event::Alert(Box::new(Alert { labels, annotations: std::collections::BTreeMap::new(), state }))
    };
    let record = record(vec![
        alert("A", AlertState::Pending),
        alert("B", AlertState::Firing),
        alert("A", AlertState::Firing),
        alert("B", AlertState::Inactive),
        alert("B", AlertState::Pending),
    ]);
    let at = |index: usize| {
        let moment = record.entries[index].at;
        let found = record.alerts_at(moment).into_iter();
        found.map(|(since, alert)| (since, alert.name(), alert.state)).collect::<Vec<_>>()
    };
    let moments: Vec<Time> = record.entries.iter().map(|entry| entry.at).collect();
    assert_eq!(at(0), [(moments[0], "A", AlertState::Pending)]);
    assert_eq!(at(2), [(moments[0], "A", AlertState::Firing), (moments[1], "B", AlertState::Firing)]);
    assert_eq!(at(3), [(moments[0], "A", AlertState::Firing)]);
    assert_eq!(at(4), [(moments[0], "A", AlertState::Firing), (moments[4], "B", AlertState::Pending)]);
    let mut active = ActiveAlerts::default();
    for entry in &record.entries {
        active.apply(entry);
        assert_eq!(active.list(), record.alerts_at(entry.at));
    }
}

#[test]
fn a_record_of_a_newer_format_is_rejected_and_one_without_a_format_is_read() {
    let header = |format: &str| {
        format!("{{\"windtunnel\":\"0.1.0\"{format},\"scenario\":\"s\",\"ids\":[],\"seed\":1,\"epoch\":0}}\n")
    };
    assert!(Record::parse(&header("")).is_ok());
    assert!(Record::parse(&header(",\"format\":1")).is_ok());
    assert!(Record::parse(&header(",\"format\":2")).is_ok());
    assert!(Record::parse(&header(",\"format\":3")).is_ok());
    let error = Record::parse(&header(",\"format\":4,\"more\":[]")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: expected a record of format 3 or older, found format 4: read it with the windtunnel that wrote it, or a newer one"
    );
}

#[test]
fn rights_of_users_are_read_back_and_only_records_with_rights_have_the_newest_format() {
    let mut record = record(vec![Event::Step { text: "advance 1m".to_owned() }]);
    assert!(check_round_trip(&record).lines().next().unwrap().contains("\"format\":2"));
    let rule = RuleRights {
        binding: "RoleBinding/default/mine".to_owned(),
        role: "Role/default/mine".to_owned(),
        index: 0,
        rule: json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] }),
        used: vec!["get pods".to_owned()],
        unused: vec!["list pods".to_owned()],
    };
    let refused = RefusedRequest { verb: "create".to_owned(), ..RefusedRequest::default() };
    record.rights = vec![UserRights {
        user: "system:serviceaccount:default:mine".to_owned(),
        is_privileged: false,
        rules: vec![rule],
        refused: vec![refused],
        refused_more: 0,
    }];
    let lines = check_round_trip(&record);
    assert!(lines.lines().next().unwrap().contains("\"format\":3"));
    assert!(lines.lines().last().unwrap().starts_with("{\"rights\":{\"user\":\"system:serviceaccount:"));
    let invalid = lines.replace("isPrivileged", "isAdministrator");
    let error = Record::parse(&invalid).unwrap_err();
    assert_eq!(error.line, 3);
    assert!(error.expected.starts_with("the rights of a user in a record: "), "{error}");
}
