//! Replays all exchanges recorded from a real kube-apiserver 1.36 against the server, without HTTP, and those of earlier
//! minors that differ. All must agree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use serde_json::{Map, Value, json};
use windtunnel_apiserver::{
    AdmissionPlugins, ApiServer, Impersonate, Method, Poll, Query, Reply, ReplyBody, Request,
};
use windtunnel_conformance::compare::{Volatile, compare, shape, sort};
use windtunnel_conformance::corpus::{Env, edit, expected, fill, find};
use windtunnel_core::Identity;

use crate::recordings::{entries, ours};

/// The bearer token of the administrator, the default user of a case.
const ADMIN: &str = "admin";

/// Cases about HTTP itself: an answer without a body, and a watch in a plain request. `.ci/run` replays them, and
/// those with `"http": true`.
const HTTP_ONLY: [&str; 2] = [
    "methods on collections, names and subresources",
    "verbs: get does not mean list; watch, patch, update, create, delete apart",
];

/// The recorded groups, one file each.
fn corpus() -> Vec<PathBuf> {
    entries(&ours("conformance/corpus"))
}

#[test]
#[expect(clippy::print_stdout, reason = "reports the number of cases")]
fn every_recorded_request_gets_the_recorded_response() {
    let (mut replayed, mut skipped, mut wrong) = (0, 0, Vec::new());
    for path in corpus() {
        let outcome = replay(&path, 36);
        replayed += outcome.replayed;
        skipped += outcome.skipped;
        wrong.extend(outcome.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(replayed > 2_600, "only {replayed} cases");
    assert_eq!(skipped, HTTP_ONLY.len(), "each skipped case exists once");
    println!("{replayed} recorded cases agree");
}

#[test]
#[expect(clippy::print_stdout, reason = "reports the number of cases")]
fn an_earlier_minor_gives_the_responses_recorded_from_it() {
    for folder in entries(&ours("conformance/minors")) {
        let version = folder.file_name().unwrap().to_str().unwrap();
        let minor = version.strip_prefix("1.").unwrap().parse().unwrap();
        let outcomes: Vec<Outcome> = entries(&folder).iter().map(|path| replay(path, minor)).collect();
        let replayed: usize = outcomes.iter().map(|outcome| outcome.replayed).sum();
        let wrong: Vec<String> = outcomes.into_iter().flat_map(|outcome| outcome.wrong).collect();
        assert!(replayed > 0, "no cases for {version}");
        assert!(wrong.is_empty(), "{version}: {}", wrong.join("\n"));
        println!("{replayed} recorded cases of {version} agree");
    }
}

#[test]
fn plug_ins_that_are_off_by_default_give_the_recorded_responses() {
    let outcome = replay(&ours("conformance/optional-admission.json"), 36);
    assert!(outcome.replayed > 0, "no cases");
    assert!(outcome.wrong.is_empty(), "{}", outcome.wrong.join("\n"));
}

/// The result of the cases of a file.
#[derive(Default)]
struct Outcome {
    replayed: usize,
    skipped: usize,
    wrong: Vec<String>,
}

/// Replays a file against a server of Kubernetes 1.`minor`.
fn replay(path: &Path, minor: u32) -> Outcome {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let group = path.file_stem().unwrap().display();
    let start = Case::new(&file, minor);
    let mut outcome = Outcome::default();
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        outcome.skipped += usize::from(HTTP_ONLY.contains(&name));
        if HTTP_ONLY.contains(&name) || case["http"] == true {
            continue;
        }
        let problems = start.clone().run(case);
        outcome.wrong.extend(problems.into_iter().map(|why| format!("{group}/{name}: {why}")));
        outcome.replayed += 1;
    }
    outcome
}

#[derive(Clone)]
struct Case {
    server: ApiServer,
    now: windtunnel_core::clock::Time,
    env: Env,
    volatile: Volatile,
    definitions: Vec<String>,
    problems: Vec<String>,
}

impl Case {
    fn new(file: &Value, minor: u32) -> Self {
        let now = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut env: Env = Env::new();
        env.insert("case".into(), json!("ctest"));
        env.insert("ns".into(), json!("ns-test"));
        for (name, value) in file["defs"].as_object().into_iter().flatten() {
            let value = fill(value, &env);
            env.insert(name.clone(), value);
        }
        // The recorded servers of earlier minors are OpenShift's.
        let builder = ApiServer::builder().kubernetes(minor).status_ratcheting_backports(true);
        let plugins = file["plugins"].as_str().unwrap_or_default();
        let plugins = AdmissionPlugins::parse(plugins, "", minor).unwrap();
        let mut server = builder.quota_controller(true).own_admission_plugins(plugins).build(now);
        server.accept_token(ADMIN, Identity::admin());
        Self {
            server,
            now,
            env,
            volatile: Volatile::new("test"),
            definitions: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn run(mut self, case: &Value) -> Vec<String> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-test"}});
        self.ask(&json!({ "method": "POST", "path": "/api/v1/namespaces", "body": namespace }));
        for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            self.step(step, &format!("step {index}"));
        }
        self.problems
    }

    fn step(&mut self, step: &Value, at: &str) {
        if step.get("watch").is_some() {
            self.watch(step, at);
        } else if let Some(crd) = step.get("crd") {
            self.definition(&fill(crd, &self.env), at);
        } else if step.get("request").is_some() {
            self.request(step, at);
        }
    }

    fn definition(&mut self, crd: &Value, at: &str) {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
        let mut crd = crd.clone();
        let (status, body, ..) = if self.definitions.contains(&name) {
            let path = format!("{path}/{name}");
            let (_, old, ..) = self.ask(&json!({ "path": path }));
            crd["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
            self.ask(&json!({ "method": "PUT", "path": path, "body": crd }))
        } else {
            self.definitions.push(name);
            self.ask(&json!({ "method": "POST", "path": path, "body": crd }))
        };
        if status >= 300 {
            self.problems.push(format!("{at}: crd: {status} {body}"));
        }
    }

    fn request(&mut self, step: &Value, at: &str) {
        let mut request = fill(&step["request"], &self.env);
        let changes = request.clone();
        if let Some(body) = request.get_mut("body") {
            edit(body, &changes);
        }
        let (status, body, warnings, headers) = self.ask(&request);
        for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
            let value = find(&body, pointer.as_str().unwrap());
            self.env.insert(name.clone(), value);
        }
        if step["setup"] == true {
            if status >= 400 && step.get("retry").is_none() {
                self.problems.push(format!("{at}: setup answered {status} {body}"));
            }
            return;
        }
        let mut got = json!({ "status": status });
        if !warnings.is_empty() {
            got["warnings"] = json!(warnings.iter().map(|text| self.volatile.text(text)).collect::<Vec<_>>());
        }
        if let Some(same) = step["same"].as_object() {
            let same = same.iter().map(|(pointer, value)| {
                (pointer.clone(), json!(find(&body, pointer) == fill(value, &self.env)))
            });
            got["same"] = Value::Object(same.collect());
        }
        got["body"] = shape(step, &body, &self.volatile);
        let mut want = step["response"].clone();
        want["body"] = expected(&want, &self.env);
        want.as_object_mut()
            .unwrap()
            .retain(|member, _| !["headers", "set", "remove"].contains(&member.as_str()));
        for (name, value) in step["response"]["headers"].as_object().into_iter().flatten() {
            let name = name.to_lowercase();
            want["headers"][&name] = value.clone();
            got["headers"][&name] = json!(headers.get(&name));
        }
        if let Some(pointer) = step["sort"].as_str() {
            sort(&mut got["body"], pointer);
            sort(&mut want["body"], pointer);
        }
        let mut differences = Vec::new();
        compare(&want, &got, "", &mut differences);
        self.problems.extend(differences.into_iter().map(|difference| format!("{at}: {difference}")));
    }

    /// The reply to a recorded request.
    fn reply(&mut self, request: &Value) -> Reply {
        let method = match request["method"].as_str().unwrap_or("GET") {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => Method::Other,
        };
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let pairs = request["query"].as_object().into_iter().flatten();
        let pairs = pairs.flat_map(|(name, value)| {
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            values.iter().map(|value| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        });
        let headers = headers(request);
        let who = match self.server.authenticate(&headers, None, self.now) {
            Ok(who) => who,
            Err(rejection) => return *rejection,
        };
        let mut decoded = Request::new(method, text("path"), &who).with_content_type(text("type"));
        decoded.impersonate = Impersonate::read(&headers).map(Box::new);
        decoded.accept = text("accept").into();
        decoded.query = Query::new(pairs.collect());
        if let Some(body) = request.get("body") {
            let bytes = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            decoded.body = windtunnel_apiserver::Body::Bytes(bytes.into());
        }
        self.server.handle(&decoded, self.now)
    }

    fn ask(&mut self, request: &Value) -> (u16, Value, Vec<String>, BTreeMap<String, String>) {
        let reply = self.reply(request);
        let mut warnings: Vec<String> = reply
            .warnings
            .iter()
            .map(|text| format!("299 - {}", serde_json::to_string(text).unwrap()))
            .collect();
        warnings.sort();
        let mut headers: BTreeMap<String, String> =
            reply.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (content_type, bytes) = reply.encode().unwrap_or_default();
        headers.insert("content-type".to_owned(), content_type.to_string());
        let text = String::from_utf8_lossy(&bytes);
        let body = if bytes.is_empty() { Value::Null } else { json!(text) };
        let json = if content_type.starts_with("application/json") { reply.json() } else { None };
        (reply.code, json.unwrap_or(body), warnings, headers)
    }

    fn watch(&mut self, step: &Value, at: &str) {
        let request = fill(&step["watch"], &self.env);
        let mut watch_request = request.clone();
        watch_request["query"]["watch"] = json!("true");
        let reply = self.reply(&watch_request);
        let status = reply.code;
        let mut events = Vec::new();
        let ReplyBody::Watch(mut watch) = reply.body else {
            let events = json!([shape(step, &reply.json().unwrap_or_default(), &self.volatile)]);
            for (index, inner) in step["during"].as_array().into_iter().flatten().enumerate() {
                self.step(inner, &format!("{at}.during[{index}]"));
            }
            return self.compare_watch(step, at, &json!({ "status": status, "events": events }));
        };
        self.drain(&mut watch, &mut events);
        for (index, inner) in step["during"].as_array().into_iter().flatten().enumerate() {
            self.step(inner, &format!("{at}.during[{index}]"));
            self.drain(&mut watch, &mut events);
        }
        let seconds = request["seconds"].as_i64().unwrap_or(3);
        self.now += jiff::SignedDuration::from_secs(seconds);
        let ended = self.drain(&mut watch, &mut events);
        let events: Vec<Value> =
            events.into_iter().map(|event| shape(step, &event, &self.volatile)).collect();
        let mut got = json!({ "status": status, "events": events });
        if step["untilEnd"] == true {
            got["ended"] = json!(ended);
        }
        self.compare_watch(step, at, &got);
    }

    fn compare_watch(&mut self, step: &Value, at: &str, got: &Value) {
        let want: Map<String, Value> =
            got.as_object().unwrap().keys().map(|key| (key.clone(), step[key].clone())).collect();
        let mut differences = Vec::new();
        compare(&Value::Object(want), got, "", &mut differences);
        self.problems.extend(differences.into_iter().map(|difference| format!("{at}: {difference}")));
    }

    /// Collects the events of a watch. Returns whether the watch ended.
    fn drain(&mut self, watch: &mut windtunnel_apiserver::Watch, events: &mut Vec<Value>) -> bool {
        loop {
            match self.server.poll(watch, self.now) {
                Poll::Lines(lines) => {
                    let lines = lines.iter().map(|line| serde_json::from_slice::<Value>(line).unwrap());
                    events.extend(lines.filter(|event| {
                        event["type"] != "BOOKMARK"
                            || event["object"]["metadata"].get("annotations").is_some()
                    }));
                }
                Poll::PendingUntil(_) => return false,
                Poll::Ended => return true,
            }
        }
    }
}

/// The headers of a recorded request, with the administrator's token as default.
fn headers(request: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.insert(name, value.as_str().unwrap().parse().unwrap());
    }
    if request["anonymous"] != true {
        let token = request["token"].as_str().unwrap_or(ADMIN);
        headers.entry(AUTHORIZATION).or_insert(format!("Bearer {token}").parse().unwrap());
    }
    headers
}
