//! Lists in pages and of old revisions, and watches from future revisions.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Poll, ReplyBody, Request};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{ask, now, server};

/// Names and values of the ConfigMaps of `default` in a list, and its continue token.
fn page(server: &mut ApiServer, query: &str) -> (u16, String, String) {
    page_of(server, &format!("/api/v1/namespaces/default/configmaps?{query}"))
}

/// As `page`, for the list at `path`.
fn page_of(server: &mut ApiServer, path: &str) -> (u16, String, String) {
    let reply = server.handle(&Request::new(Method::Get, path, &Identity::admin()), now());
    let list = reply.json().unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let items = items.iter().map(|map| format!("{}={}", map["metadata"]["name"], map["data"]["v"]));
    let shown = items.collect::<Vec<_>>().join(" ").replace('"', "");
    (reply.code, shown, list["metadata"]["continue"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn later_pages_and_exact_lists_show_the_state_of_their_revision() {
    let mut server = server(36);
    let map = |name: &str, v: &str| json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "v": v } });
    let kind = &resources::CONFIG_MAPS;
    for name in ["a", "b", "c", "d"] {
        ask(&mut server, &Write::create(kind, map(name, "1"))).unwrap();
    }
    let revision = server.revision();
    let (_, shown, next) = page(&mut server, "limit=1");
    assert_eq!(shown, "a=1");
    ask(&mut server, &Write::update(kind, map("b", "2"))).unwrap();
    ask(&mut server, &Write::update(kind, map("b", "3"))).unwrap();
    ask(&mut server, &Write::delete(kind, "default", "c")).unwrap();
    ask(&mut server, &Write::create(kind, map("bb", "1"))).unwrap();
    assert_eq!(page(&mut server, "").1, "a=1 b=3 bb=1 d=1");
    assert_eq!(page(&mut server, &format!("continue={next}")).1, "b=1 c=1 d=1");
    let exact = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(page(&mut server, &exact).1, "a=1 b=1 c=1 d=1");
    server.compact();
    assert_eq!(page(&mut server, &exact).0, 410);
    assert_eq!(page(&mut server, &format!("continue={next}")).0, 410);
}

#[test]
fn pages_are_complete_when_a_namespace_is_a_prefix_of_another() {
    let mut server = server(36);
    for (namespace, name) in [("n", "a"), ("n", "b"), ("n-x", "c"), ("n-x", "d")] {
        let space = json!({ "metadata": { "name": namespace } });
        let _ = ask(&mut server, &Write::create(&resources::NAMESPACES, space));
        let map = json!({ "metadata": { "name": name, "namespace": namespace }, "data": { "v": namespace } });
        ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
    }
    let (mut shown, mut next) = (Vec::new(), String::new());
    loop {
        // The server has a ConfigMap of its own in `kube-system`.
        let selector = "fieldSelector=metadata.namespace!=kube-system";
        let path = format!("/api/v1/configmaps?limit=1&{selector}&continue={next}");
        let (_, items, more) = page_of(&mut server, &path);
        shown.push(items);
        if more.is_empty() {
            break;
        }
        next = more;
    }
    assert_eq!(shown, ["c=n-x", "d=n-x", "a=n", "b=n"]);
}

#[test]
fn a_watch_list_from_the_future_gets_one_error_event_and_ends() {
    let mut server = server(36);
    let path = "/api/v1/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                &allowWatchBookmarks=true&resourceVersion=9999";
    let reply = server.handle(&Request::new(Method::Get, path, &Identity::admin()), now());
    let ReplyBody::Watch(mut watch) = reply.body else { panic!("no watch: {}", reply.code) };
    let Poll::Lines(lines) = server.poll(&mut watch, now()) else { panic!("nothing to send") };
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let (code, current) = (&events[0]["object"]["code"], server.revision());
    assert_eq!((lines.len(), &events[0]["type"], code), (1, &json!("ERROR"), &json!(504)));
    let message = format!("Timeout: Too large resource version: 9999, current: {current}");
    assert_eq!(events[0]["object"]["message"], json!(message));
    assert_eq!(server.poll(&mut watch, now()), Poll::Ended);
}

#[test]
fn old_objects_are_read_listed_and_updated_like_recent_ones() {
    // With a history of one event per kind, the server stores all but the last few objects as text.
    let mut server = ApiServer::builder().history(1).build(now());
    let kind = &resources::CONFIG_MAPS;
    let map = |name: &str, v: &str| json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "v": v } });
    let names: Vec<String> = (10..40).map(|number| format!("m{number}")).collect();
    let mut written = Vec::new();
    for name in &names {
        written.push(ask(&mut server, &Write::create(kind, map(name, "1"))).unwrap());
    }
    let (_, shown, _) = page(&mut server, "");
    assert_eq!(shown, names.iter().map(|name| format!("{name}=1")).collect::<Vec<_>>().join(" "));
    assert_eq!(server.object(kind, "default", "m10").as_ref(), Some(&written[0]));
    let same = ask(&mut server, &Write::update(kind, map("m10", "1"))).unwrap();
    assert_eq!(same, written[0], "an update that changes nothing writes nothing");
    let patch = Write::merge_patch(kind, "default", "m11", json!({ "data": { "w": "2" } }));
    let patched = ask(&mut server, &patch).unwrap();
    assert_eq!(patched["data"], json!({ "v": "1", "w": "2" }));
    ask(&mut server, &Write::delete(kind, "default", "m12")).unwrap();
    assert!(server.object(kind, "default", "m12").is_none());
}

#[test]
fn an_expired_continue_token_comes_with_a_fresh_one() {
    let mut server = server(36);
    let map =
        |name: &str| json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "v": "1" } });
    for name in ["a", "b", "c"] {
        ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map(name))).unwrap();
    }
    let (_, _, next) = page(&mut server, "limit=1");
    ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map("bb"))).unwrap();
    server.compact();
    let (code, _, fresh) = page(&mut server, &format!("limit=2&continue={next}"));
    assert_eq!(code, 410);
    let (code, shown, next) = page(&mut server, &format!("limit=2&continue={fresh}"));
    assert_eq!((code, shown.as_str()), (200, "b=1 bb=1"));
    assert_eq!(page(&mut server, &format!("limit=2&continue={next}")).1, "c=1");
}

#[test]
fn lists_combine_their_options_as_a_real_server_does() {
    let mut server = server(36);
    for name in ["a", "b", "c"] {
        let map = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "v": "1" } });
        ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
    }
    let (_, _, token) = page(&mut server, "limit=1");
    let n = server.revision();
    let (all, two, rest) = ("a=1 b=1 c=1", "a=1 b=1", "b=1 c=1");
    for (query, code, shown) in [
        (String::new(), 200, all),
        ("limit=2".into(), 200, two),
        ("limit=0".into(), 200, all),
        ("limit=-1".into(), 200, all),
        ("limit=x".into(), 400, ""),
        ("timeoutSeconds=x".into(), 400, ""),
        ("resourceVersion=0".into(), 200, all),
        ("resourceVersion=0&limit=2".into(), 200, all),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2".into(), 200, all),
        ("resourceVersion=0&resourceVersionMatch=Exact".into(), 422, ""),
        (format!("resourceVersion={n}"), 200, all),
        (format!("resourceVersion={n}&limit=2"), 200, two),
        (format!("resourceVersion={n}&resourceVersionMatch=Exact"), 200, all),
        (format!("resourceVersion={n}&resourceVersionMatch=Exact&limit=2"), 200, two),
        (format!("resourceVersion={n}&resourceVersionMatch=NotOlderThan&limit=2"), 200, two),
        ("resourceVersion=1&resourceVersionMatch=Exact".into(), 410, ""),
        ("resourceVersion=1&limit=2".into(), 410, ""),
        ("resourceVersion=1".into(), 200, all),
        ("resourceVersion=1&resourceVersionMatch=NotOlderThan".into(), 200, all),
        ("resourceVersion=99999".into(), 504, ""),
        ("resourceVersion=x".into(), 400, ""),
        ("resourceVersionMatch=Exact".into(), 422, ""),
        ("resourceVersionMatch=NotOlderThan".into(), 422, ""),
        (format!("resourceVersion={n}&resourceVersionMatch=Other"), 422, ""),
        (format!("continue={token}"), 200, rest),
        (format!("continue={token}&limit=1"), 200, "b=1"),
        (format!("continue={token}&resourceVersion=0"), 200, rest),
        (format!("continue={token}&resourceVersion={n}"), 400, ""),
        (format!("continue={token}&resourceVersion={n}&resourceVersionMatch=Exact"), 422, ""),
        ("sendInitialEvents=true".into(), 422, ""),
        ("fieldSelector=metadata.name=b".into(), 200, "b=1"),
        ("fieldSelector=metadata.name!=b".into(), 200, "a=1 c=1"),
    ] {
        let (got, items, _) = page(&mut server, &query);
        assert_eq!((got, items.as_str()), (code, shown), "{query}");
    }
}

#[test]
fn a_minor_without_watch_list_rejects_send_initial_events() {
    let path = "/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let code =
        |minor: u32| server(minor).handle(&Request::new(Method::Get, path, &Identity::admin()), now()).code;
    assert_eq!(code(33), 422);
    assert_eq!(code(36), 200);
}

/// A token of a list in pages.
fn token(revision: i64, start: &str) -> String {
    use base64::Engine as _;
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": start }).to_string();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token)
}

#[test]
fn a_forged_token_continues_within_its_list_or_is_rejected() {
    let mut server = server(36);
    for (namespace, name) in [("n", "a"), ("n", "b"), ("m", "z")] {
        let space = json!({ "metadata": { "name": namespace } });
        let _ = ask(&mut server, &Write::create(&resources::NAMESPACES, space));
        let map = json!({ "metadata": { "name": name, "namespace": namespace }, "data": { "v": "1" } });
        ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
    }
    let own = "/api/v1/namespaces/n/configmaps?continue=";
    let all = "/api/v1/configmaps?fieldSelector=metadata.namespace!=kube-system&continue=";
    let future = i64::try_from(server.revision()).unwrap() + 1;
    for (list, revision, start, code, shown) in [
        (own, -1, "a", 200, "a=1 b=1"),
        (own, -1, "a\u{0}", 200, "b=1"),
        (own, -1, "/b", 200, "b=1"),
        (own, -1, "n/a", 200, ""),
        (own, -1, "m/z", 200, ""),
        (all, -1, "m/z\u{0}", 200, "a=1 b=1"),
        (all, -1, "n/b", 200, "b=1"),
        (all, -1, "n", 200, "a=1 b=1"),
        (own, -1, "../m/z", 400, ""),
        (all, -1, "../../secrets/n/a", 400, ""),
        (own, -1, "a/", 400, ""),
        (own, 0, "a", 400, ""),
        (own, future, "a", 504, ""),
    ] {
        let (got, items, _) = page_of(&mut server, &format!("{list}{}", token(revision, start)));
        assert_eq!((got, items.as_str()), (code, shown), "{list} {revision} {start:?}");
    }
    let (_, _, next) = page_of(&mut server, "/api/v1/namespaces/n/configmaps?limit=1");
    assert_eq!(next, token(i64::try_from(server.revision()).unwrap(), "a\u{0}"), "as a real server has it");
}
