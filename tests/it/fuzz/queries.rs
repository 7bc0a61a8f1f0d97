//! Selectors, continue tokens, resource versions and options of lists, watches and collection deletions.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::campaign::campaign;
use super::checked_server::{ask, server};
use super::dice::Dice;
use crate::apiserver::requests::{define, definition};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KEYS: &[&str] = &["a", "b", "x.io/c"];
const VALUES: &[&str] = &["", "1", "2", "10", "v"];
const LABELS: &[&str] = &[
    "a",
    "a=1",
    "a==1",
    "a!=1",
    "!a",
    "a in (1,2)",
    "a notin (1)",
    "a>1",
    "a<10",
    "a in ()",
    "a in (",
    ",",
    "a,,b",
    "=",
    "!!a",
    "a b",
    "x.io/c",
    "x.io/=",
    "/c",
    "a in (1,)",
    "a>x",
    "in in (in)",
    "a=\u{e9}",
    "(",
    "a\t=\n1",
    "a>99999999999999999999",
];
const FIELDS: &[&str] = &[
    "metadata.name=a",
    "metadata.name==a",
    "metadata.name!=a",
    "metadata.namespace=default",
    "status.phase=Running",
    "spec.nodeName=",
    "nothing=a",
    "metadata.name",
    "=",
    ",",
    "metadata.name=a\\,b",
    "metadata.name=a\\",
    "a\\=b=c",
    "metadata.name in (a)",
    "involvedObject.name=a",
    "metadata.name=a,metadata.name=b",
    "type=Opaque",
];
const NUMBERS: &[&str] =
    &["", "0", "1", "5", "-1", "007", "x", "9223372036854775807", "9223372036854775808", "1e3", " 1", "%00"];
const OPTIONS: &[(&str, &[&str])] = &[
    ("limit", NUMBERS),
    ("resourceVersion", NUMBERS),
    ("timeoutSeconds", NUMBERS),
    ("gracePeriodSeconds", NUMBERS),
    ("resourceVersionMatch", &["", "Exact", "NotOlderThan", "x"]),
    ("watch", &["", "0", "1", "true", "false", "x"]),
    ("sendInitialEvents", &["", "true", "false", "x"]),
    ("allowWatchBookmarks", &["", "true", "x"]),
    ("propagationPolicy", &["", "Orphan", "Background", "Foreground", "x"]),
    ("dryRun", &["", "All", "x"]),
    ("pretty", &["", "1", "true", "x"]),
    ("fieldManager", &["", "a", "\u{e9}", "\u{7}"]),
    ("includeObject", &["", "None", "Object", "Metadata", "x"]),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", &["true", "x"]),
    ("shardSelector", &["", "x", "shardRange(object.metadata.uid, '0x0', '0x8')"]),
    ("orphanDependents", &["", "true", "x"]),
];
const COLLECTIONS: &[&str] = &[
    MAPS,
    MAPS,
    "/api/v1/configmaps",
    "/api/v1/watch/configmaps",
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/namespaces",
    "/apis/example.io/v1/versions",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/api/v1/secrets",
    "/api/v1/watch/namespaces/default/configmaps/a",
    "/apis/apps/v1/deployments",
    "/api/v1/nodes",
];

fn map(name: &str, labels: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": labels }, "data": {} })
}

fn labels(dice: &mut Dice) -> BTreeMap<String, String> {
    (0..dice.number(0, 3)).map(|_| (dice.pick(KEYS).to_owned(), dice.pick(VALUES).to_owned())).collect()
}

/// A cluster with some labelled ConfigMaps.
fn filled(dice: &mut Dice, count: u64) -> (ApiServer, BTreeMap<String, BTreeMap<String, String>>) {
    let mut server = server(dice.minor());
    let mut all = BTreeMap::new();
    for number in 0..count {
        let (name, labels) = (format!("m{number}"), labels(dice));
        ask(&mut server, Method::Post, MAPS, "", &map(&name, &json!(labels))).unwrap();
        all.insert(name, labels);
    }
    (server, all)
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

/// Escapes every byte that is no letter or digit.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// A continue token: one of the server's with changed bytes, or an invented one.
fn token(dice: &mut Dice, good: &str) -> String {
    if dice.one_in(4) {
        let start = [json!("m1\u{0}"), json!("../x"), json!(""), dice.value(1)][dice.index(4)].clone();
        let made =
            json!({ "v": dice.pick(&["meta.k8s.io/v1", "x", ""]), "rv": dice.integer(), "start": start });
        return if dice.one_in(2) {
            URL_SAFE_NO_PAD.encode(made.to_string())
        } else {
            STANDARD.encode(made.to_string())
        };
    }
    let mut bytes = good.as_bytes().to_vec();
    for _ in 0..dice.number(0, 2) {
        if !bytes.is_empty() {
            let at = dice.index(bytes.len());
            bytes[at] = u8::try_from(dice.number(0, 255)).unwrap();
        }
    }
    if dice.one_in(4) {
        bytes.truncate(dice.count(0, bytes.len()));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn unusual_queries_get_valid_responses() {
    campaign("queries::unusual_queries_get_valid_responses", 12, |seed| {
        let mut dice = Dice::new("queries", seed);
        let (mut server, _) = filled(&mut dice, 6);
        define(&mut server, definition(&["a"], false));
        let first = ask(&mut server, Method::Get, &format!("{MAPS}?limit=2"), "", &Value::Null)?;
        let good = first.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        for _ in 0..150 {
            let mut query = Vec::new();
            if dice.one_in(3) {
                let parts: Vec<&str> = (0..dice.number(1, 3)).map(|_| dice.pick(LABELS)).collect();
                query.push(format!("labelSelector={}", escaped(&parts.join(","))));
            }
            if dice.one_in(3) {
                let parts: Vec<&str> = (0..dice.number(1, 2)).map(|_| dice.pick(FIELDS)).collect();
                query.push(format!("fieldSelector={}", escaped(&parts.join(","))));
            }
            if dice.one_in(3) {
                query.push(format!("continue={}", escaped(&token(&mut dice, &good))));
            }
            for _ in 0..dice.number(0, 3) {
                let (name, values) = OPTIONS[dice.index(OPTIONS.len())];
                query.push(format!("{name}={}", dice.pick(values)));
            }
            let method = if dice.one_in(8) { Method::Delete } else { Method::Get };
            let path = format!("{}?{}", dice.pick(COLLECTIONS), query.join("&"));
            ask(&mut server, method, &path, "", &Value::Null)?;
        }
        Ok(())
    });
}

/// Whether a selector matches labels.
type Selects = Box<dyn Fn(&BTreeMap<String, String>) -> bool>;

/// A random requirement as text, with its predicate.
fn requirement(dice: &mut Dice) -> (String, Selects) {
    let (key, value, other) = (dice.pick(KEYS).to_owned(), dice.pick(VALUES), dice.pick(VALUES));
    let values = [value.to_owned(), other.to_owned()];
    let (own, bound) = (key.clone(), dice.number(0, 12));
    let number =
        move |labels: &BTreeMap<String, String>| labels.get(&own).and_then(|text| text.parse::<u64>().ok());
    match dice.number(0, 7) {
        0 => (key.clone(), Box::new(move |labels| labels.contains_key(&key))),
        1 => (format!("!{key}"), Box::new(move |labels| !labels.contains_key(&key))),
        2 => (format!("{key}={value}"), Box::new(move |labels| labels.get(&key) == Some(&values[0]))),
        3 => (format!("{key} != {value}"), Box::new(move |labels| labels.get(&key) != Some(&values[0]))),
        4 => {
            let text = format!("{key} in ({value},{other})");
            (text, Box::new(move |labels| labels.get(&key).is_some_and(|found| values.contains(found))))
        }
        5 => {
            let text = format!("{key} notin ({value}, {other})");
            (text, Box::new(move |labels| labels.get(&key).is_none_or(|found| !values.contains(found))))
        }
        6 => (
            format!("{key}>{bound}"),
            Box::new(move |labels| number(labels).is_some_and(|found| found > bound)),
        ),
        _ => (
            format!("{key} < {bound}"),
            Box::new(move |labels| number(labels).is_some_and(|found| found < bound)),
        ),
    }
}

#[test]
fn label_selectors_agree_with_a_model() {
    campaign("queries::label_selectors_agree_with_a_model", 12, |seed| {
        let mut dice = Dice::new("labels", seed);
        let (mut server, all) = filled(&mut dice, 8);
        for _ in 0..40 {
            let wanted: Vec<_> = (0..dice.number(1, 3)).map(|_| requirement(&mut dice)).collect();
            let text = wanted.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(",");
            let path = format!("{MAPS}?labelSelector={}", escaped(&text));
            let answer = ask(&mut server, Method::Get, &path, "", &Value::Null)?;
            let model = all.iter().filter(|(_, labels)| wanted.iter().all(|(_, holds)| holds(labels)));
            let model: Vec<String> = model.map(|(name, _)| name.clone()).collect();
            if !answer.is_good() || names(&answer.body) != model {
                return Err(format!(
                    "{text}: {} {:?} instead of {model:?}",
                    answer.code,
                    names(&answer.body)
                ));
            }
        }
        Ok(())
    });
}

#[test]
fn pages_together_equal_the_list() {
    campaign("queries::pages_together_equal_the_list", 12, |seed| {
        let mut dice = Dice::new("pages", seed);
        let count = dice.number(0, 12);
        let (mut server, all) = filled(&mut dice, count);
        let (limit, mut next, mut found) = (dice.number(1, 5), String::new(), Vec::new());
        loop {
            let path = format!("{MAPS}?limit={limit}&continue={next}");
            let page = ask(&mut server, Method::Get, &path, "", &Value::Null)?;
            let fresh = map(&format!("m{}", dice.number(20, 30)), &json!({}));
            ask(&mut server, Method::Post, MAPS, "", &fresh)?;
            let deleted = format!("{MAPS}/m{}", dice.number(0, 12));
            ask(&mut server, Method::Delete, &deleted, "", &Value::Null)?;
            let items = names(&page.body);
            if !page.is_good() || items.len() as u64 > limit {
                return Err(format!("{path}: {} {}", page.code, page.body));
            }
            found.extend(items);
            next = page.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if next.is_empty() {
                break;
            }
        }
        let all: Vec<String> = all.into_keys().collect();
        if found == all { Ok(()) } else { Err(format!("{found:?} instead of {all:?}, in pages of {limit}")) }
    });
}
