//! Checks expectations about the past: the order of writes, and the statuses of a condition.

use serde_json::Value;
use windtunnel_core::condition;
use windtunnel_core::resources::{CONFIG_MAPS, UPDATE_STATUSES};
use windtunnel_core::text::short_duration;
use windtunnel_update_status::insight::published::{CONFIG_MAP, NAMESPACE};

use super::matching::{check_all, insights_in, insights_of, name_fits, objects};
use crate::engine::counting::Counted;
use crate::plan::{Check, InsightRef, ObjectRef, Subject, WriteMatch};
use crate::record::{Entry, Event, Record, WriteEvent};

/// Whether matching writes of those that count were made in this order, with others between them or not.
pub(in crate::engine) fn in_order(
    record: &Record,
    counted: &Counted,
    wanted: &[&WriteMatch],
) -> Result<(), String> {
    let mut missing = wanted.iter();
    let mut next = missing.next();
    for write in counted.entries(record).filter_map(write_of) {
        let Some(current) = next else { break };
        if write_matches(write, current) {
            next = missing.next();
        }
    }
    match next {
        None => Ok(()),
        Some(current) => {
            let number = wanted.len() - missing.len();
            let why = format!("write {number} of {} is missing or out of order: {current}", wanted.len());
            Err(counted.explain(&why))
        }
    }
}

/// Whether matching writes of those that count were made in this order, and no other of them matches any.
pub(in crate::engine) fn expect_exact_writes(
    record: &Record,
    counted: &Counted,
    wanted: &[WriteMatch],
) -> Result<(), String> {
    exact_writes(record, counted, wanted).map_err(|why| counted.explain(&why))
}

fn exact_writes(record: &Record, counted: &Counted, wanted: &[WriteMatch]) -> Result<(), String> {
    let made = counted.entries(record).filter_map(write_of);
    let alike: Vec<_> =
        made.filter(|write| wanted.iter().any(|wanted| write_matches(write, wanted))).collect();
    for (index, write) in alike.iter().enumerate() {
        let number = index + 1;
        let by = format!("{} of {}/{} by {}", write.verb, write.kind, write.key.name, write.by);
        match wanted.get(index) {
            Some(wanted) if write_matches(write, wanted) => {}
            Some(wanted) => return Err(format!("expected write {number} to be {wanted}; it is {by}")),
            None => return Err(format!("write {number} is unexpected: {by}")),
        }
    }
    wanted.get(alike.len()).map_or(Ok(()), |missing| {
        Err(format!("write {} of {} is missing: {missing}", alike.len() + 1, wanted.len()))
    })
}

/// Whether a condition had exactly these statuses since the run began, the initial one included.
pub(in crate::engine) fn statuses(
    record: &Record,
    subject: &Subject,
    condition: &str,
    wanted: &[String],
) -> Result<(), String> {
    let locations: &[InsightLocation] = match subject {
        Subject::Object(_) => &[InsightLocation::Any],
        Subject::Insight(_) => &[InsightLocation::ConfigMap, InsightLocation::UpdateStatus],
    };
    let statuses = locations.iter().map(|location| condition_statuses(record, subject, condition, *location));
    let seen = statuses.into_iter().find(|seen| !seen.is_empty()).unwrap_or_default();
    if seen == wanted {
        Ok(())
    } else if seen.is_empty() {
        Err(format!("there was never a condition {condition}"))
    } else {
        Err(format!("{condition} was {}", seen.join(", then ")))
    }
}

/// The object that a write publishes insights in, or `Any`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InsightLocation {
    Any,
    ConfigMap,
    UpdateStatus,
}

impl InsightLocation {
    fn of(write: &WriteEvent) -> Self {
        if write.key.is_kind(&CONFIG_MAPS) && write.key.namespace == NAMESPACE && write.key.name == CONFIG_MAP
        {
            Self::ConfigMap
        } else if write.key.is_kind(&UPDATE_STATUSES) {
            Self::UpdateStatus
        } else {
            Self::Any
        }
    }
}

/// The statuses of a condition in one location. Insights are published in two of them, one after the other.
fn condition_statuses(
    record: &Record,
    subject: &Subject,
    condition: &str,
    location: InsightLocation,
) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for (entry, write) in writes(record)
        .filter(|(_, write)| location == InsightLocation::Any || InsightLocation::of(write) == location)
    {
        for status in statuses_after(write, subject, condition) {
            if record.is_set_up(entry) {
                seen = vec![status];
            } else if seen.last() != Some(&status) {
                seen.push(status);
            }
        }
    }
    seen
}

fn writes(record: &Record) -> impl Iterator<Item = (&Entry, &WriteEvent)> {
    record.entries.iter().filter_map(|entry| Some((entry, write_of(entry)?)))
}

fn write_of(entry: &Entry) -> Option<&WriteEvent> {
    match &entry.event {
        Event::Write(write) => Some(write),
        _ => None,
    }
}

/// Checks that no matching insight was published since the run began, in the ConfigMap or the UpdateStatus.
pub(in crate::engine) fn expect_never_insight(
    record: &Record,
    insight: &InsightRef,
    checks: &[Check],
) -> Result<(), String> {
    let epoch = record.header.epoch;
    let run_writes = writes(record).filter(|(entry, write)| !record.is_set_up(entry) && write.code < 400);
    for (entry, write) in run_writes {
        let found =
            published(write, insight).into_iter().find(|found| check_all(found, None, checks).is_ok());
        if let Some(found) = found {
            let after = entry.at.duration_since(epoch).as_secs();
            return Err(format!("the insight was published after {after} s: {found}"));
        }
    }
    Ok(())
}

/// Checks that no object has met the checks since the run began.
pub(in crate::engine) fn never_object(
    record: &Record,
    object: &ObjectRef,
    checks: &[Check],
) -> Result<(), String> {
    let epoch = record.header.epoch;
    let fits = |found: &Value| check_all(found, None, checks).is_ok();
    if let Some(found) = objects(&record.view_at(epoch), object).find(|found| fits(found)) {
        return Err(format!("{} matched from the start", found.name()));
    }
    let later = writes(record).filter(|(entry, write)| !record.is_set_up(entry) && is_of(write, object));
    for (entry, write) in later {
        let after = write.after.as_ref().filter(|_| write.code < 400);
        if let Some(found) = after.filter(|found| fits(found)) {
            let after = short_duration(entry.at.duration_since(epoch));
            return Err(format!("{} matched after {after}", found.name()));
        }
    }
    Ok(())
}

/// Whether a write concerns this object.
fn is_of(write: &WriteEvent, object: &ObjectRef) -> bool {
    write.key.is_kind(&object.resource)
        && write.key.namespace == object.namespace
        && name_fits(&write.key.name, &object.name)
}

/// The insights about a resource that a write published.
fn published(write: &WriteEvent, insight: &InsightRef) -> Vec<Value> {
    match (&write.after, InsightLocation::of(write)) {
        (Some(after), InsightLocation::ConfigMap) => insights_in(after, insight),
        (Some(after), InsightLocation::UpdateStatus) => insights_of(after, insight),
        _ => Vec::new(),
    }
}

fn statuses_after(write: &WriteEvent, subject: &Subject, kind: &str) -> Vec<String> {
    let Some(after) = &write.after else { return Vec::new() };
    let status = |conditions: &Value| {
        let found = condition::find(conditions.as_array()?, kind)?;
        found["status"].as_str().map(str::to_owned)
    };
    match subject {
        Subject::Object(object) => is_of(write, object)
            .then(|| status(&after["status"]["conditions"]))
            .flatten()
            .into_iter()
            .collect(),
        Subject::Insight(insight) => {
            published(write, insight).iter().filter_map(|found| status(&found["conditions"])).collect()
        }
    }
}

fn write_matches(write: &WriteEvent, wanted: &WriteMatch) -> bool {
    let object = wanted.object.as_ref().is_none_or(|object| is_of(write, object));
    let checks = || match &write.after {
        Some(after) => check_all(after, None, &wanted.checks).is_ok(),
        None => wanted.checks.is_empty(),
    };
    object
        && wanted.by.as_ref().is_none_or(|by| by.fits(&write.by))
        && wanted.verb.as_ref().is_none_or(|verb| *verb == write.verb)
        && wanted.subresource.as_ref().is_none_or(|subresource| *subresource == write.subresource)
        && wanted.code.is_none_or(|code| code == write.code)
        && wanted.message.as_ref().is_none_or(|message| message.fits(&write.message))
        && checks()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Object;
    use windtunnel_core::clock::Time;
    use windtunnel_core::resources::CLUSTER_VERSIONS;

    use super::*;
    use crate::plan::TextMatch;
    use crate::record::Header;

    /// A record of ClusterVersion status writes: the second since the run began, and the status of
    /// Progressing.
    fn record(writes: &[(i64, &str)]) -> Record {
        let header = Header::default();
        let entry = |(second, status): &(i64, &str)| {
            let conditions = json!([{ "type": "Progressing", "status": status }]);
            let write = WriteEvent {
                by: "cluster-version-operator".to_owned(),
                process: String::new(),
                verb: "update".to_owned(),
                kind: "ClusterVersion".to_owned(),
                key: CLUSTER_VERSIONS.key("", "version"),
                subresource: "status".to_owned(),
                code: 200,
                message: String::new(),
                before: None,
                after: Some(Object::new(json!({ "status": { "conditions": conditions } }))),
            };
            Entry { at: Time::constant(*second, 0), event: Event::Write(Box::new(write)) }
        };
        Record::new(header, writes.iter().map(entry).collect())
    }

    fn check(writes: &[(i64, &str)], in_turn: &[&str], expected: &str) {
        let subject = Subject::Object(ObjectRef {
            resource: CLUSTER_VERSIONS,
            namespace: String::new(),
            name: "version".to_owned(),
        });
        let wanted: Vec<String> = in_turn.iter().map(|status| (*status).to_owned()).collect();
        let found = statuses(&record(writes), &subject, "Progressing", &wanted);
        assert_eq!(found.err().unwrap_or_default(), expected);
    }

    #[test]
    fn the_first_status_is_the_one_that_the_set_up_left() {
        let writes = [(-60, "True"), (-50, "False"), (5, "False"), (6, "True"), (7, "True"), (8, "False")];
        check(&writes, &["False", "True", "False"], "");
        check(&writes, &["True", "False", "True", "False"], "Progressing was False, then True, then False");
        check(&writes[..2], &["False"], "");
    }

    /// A write that publishes a ClusterVersion insight whose Updating condition is `status`.
    fn publishes(second: i64, key: windtunnel_core::Key, status: &str) -> Entry {
        let conditions = json!([{ "type": "Updating", "status": status }]);
        let insight = json!({
            "uid": "cv-version", "type": "ClusterVersion",
            "clusterVersion": { "resource": { "name": "version" }, "conditions": conditions },
        });
        let after = if key.is_kind(&CONFIG_MAPS) {
            json!({ "data": { "usc.cpi.cv-version": insight.to_string() } })
        } else {
            json!({ "status": { "controlPlane": { "informers": [{ "name": "cpi", "insights": [insight] }] } } })
        };
        let write = WriteEvent {
            by: "usc".to_owned(),
            process: String::new(),
            verb: "patch".to_owned(),
            kind: if key.is_kind(&CONFIG_MAPS) { "ConfigMap" } else { "UpdateStatus" }.to_owned(),
            key,
            subresource: String::new(),
            code: 200,
            message: String::new(),
            before: None,
            after: Some(Object::new(after)),
        };
        Entry { at: Time::constant(second, 0), event: Event::Write(Box::new(write)) }
    }

    #[test]
    fn statuses_of_insights_are_found_in_the_config_map_and_the_update_status() {
        let about = InsightRef { kind: "ClusterVersion".to_owned(), name: "version".to_owned(), about: None };
        let mut record = record(&[]);
        let mut check = |entries: Vec<Entry>| {
            record.entries = entries;
            let wanted = ["False", "True", "False"].map(str::to_owned);
            assert_eq!(statuses(&record, &Subject::Insight(about.clone()), "Updating", &wanted), Ok(()));
        };
        let config_map = || CONFIG_MAPS.key(NAMESPACE, CONFIG_MAP);
        let update_status = || UPDATE_STATUSES.key("", "cluster");
        let turns = [(-1, "False"), (5, "True"), (7, "False")];
        check(turns.map(|(at, status)| publishes(at, update_status(), status)).into());
        let both = turns.map(|(at, status)| {
            [publishes(at, config_map(), status), publishes(at + 1, update_status(), status)]
        });
        check(both.into_iter().flatten().collect());
        let mut late: Vec<Entry> = turns.map(|(at, status)| publishes(at, config_map(), status)).into();
        late.extend(turns.map(|(at, status)| publishes(at + 20, update_status(), status)));
        check(late);
    }

    #[test]
    fn exactly_counts_each_matching_write_once() {
        let wanted = |status: &str| WriteMatch {
            checks: vec![Check::Condition {
                kind: "Progressing".to_owned(),
                status: Some(TextMatch::Equals(status.to_owned())),
                reason: None,
                message: None,
            }],
            ..WriteMatch::default()
        };
        let check = |made: &[(i64, &str)], expected: &str| {
            let made = record(made);
            let counted = Counted::whole_run(&made);
            let found = expect_exact_writes(&made, &counted, &[wanted("True"), wanted("False")]);
            let found = found.err().unwrap_or_default();
            assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{found}");
        };
        check(&[(-1, "True"), (1, "Unknown"), (2, "True"), (3, "False"), (4, "Unknown")], "");
        check(&[(1, "True"), (2, "True"), (3, "False")], "expected write 2 to be ");
        check(
            &[(1, "True"), (2, "False"), (3, "True")],
            "write 3 is unexpected: update of ClusterVersion/version",
        );
        check(&[(1, "True")], "write 2 of 2 is missing: ");
    }

    #[test]
    fn never_object_finds_an_object_of_any_moment_of_the_run() {
        let object =
            ObjectRef { resource: CLUSTER_VERSIONS, namespace: String::new(), name: "version".to_owned() };
        let progressing = Check::Condition {
            kind: "Progressing".to_owned(),
            status: Some(TextMatch::Equals("True".to_owned())),
            reason: None,
            message: None,
        };
        let check = |made: &[(i64, &str)], expected: &str| {
            let mut record = record(made);
            for entry in &mut record.entries {
                let Event::Write(write) = &mut entry.event else { continue };
                let after = write.after.as_mut().map(|after| {
                    let mut after = after.to_value();
                    after["metadata"] = json!({ "name": "version" });
                    Object::new(after)
                });
                write.after = after;
            }
            let found = never_object(&record, &object, std::slice::from_ref(&progressing));
            assert_eq!(found.err().unwrap_or_default(), expected);
        };
        check(&[(-2, "True"), (-1, "False"), (5, "False")], "");
        check(&[(-2, "True"), (5, "False")], "version matched from the start");
        check(&[(-2, "False"), (65, "True"), (66, "False")], "version matched after 1m5s");
    }

    #[test]
    fn writes_of_the_set_up_do_not_count() {
        let wanted = WriteMatch { verb: Some("update".to_owned()), ..WriteMatch::default() };
        let two = [&wanted, &wanted];
        let found = |made: &[(i64, &str)]| {
            let made = record(made);
            in_order(&made, &Counted::whole_run(&made), &two)
        };
        let missing = "write 2 of 2 is missing or out of order: update (counted since the start)";
        assert_eq!(found(&[(-1, "False"), (0, "False")]), Err(missing.to_owned()));
        assert_eq!(found(&[(-1, "False"), (0, "False"), (1, "False")]), Ok(()));
    }
}
