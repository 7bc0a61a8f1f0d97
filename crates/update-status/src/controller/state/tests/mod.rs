//! Events in, patches out.

mod alerts;

use serde_json::json;
use windtunnel_core::yaml;

use super::*;
use crate::controller::watch::UPDATE_STATUS_CRD;

const T1: &str = "2024-01-01T01:00:00Z";
const T2: &str = "2024-01-01T02:00:00Z";

/// A state, and the ConfigMap as the API server would store it.
#[derive(Default)]
struct Bench {
    state: State,
    data: Option<BTreeMap<String, String>>,
    /// The size of foreign data in the ConfigMap, in bytes.
    binary: usize,
    revision: u64,
}

impl Bench {
    /// A bench with these objects listed and Kubernetes 1.27 as the server.
    fn new(cluster_version: Option<Value>, crd: Option<Value>, data: Option<&[(&str, &str)]>) -> Self {
        let mut bench = Self::default();
        listed("version", cluster_version.map(Object::new)).for_each(|e| bench.state.cluster_version(e));
        listed(CLUSTER_VERSION_CRD, crd).for_each(|e| bench.state.crd(e));
        bench.state.operator(Event::Init);
        bench.state.operator(Event::InitDone);
        bench.state.operator_image(Event::Init);
        bench.state.operator_image(Event::InitDone);
        bench.state.status_object.apply_crd_event(Event::Init);
        bench.state.status_object.apply_crd_event(Event::InitDone);
        bench.state.version_pod(Event::Init);
        bench.state.version_pod(Event::InitDone);
        bench.state.config_map(Event::Init);
        bench.state.config_map(Event::InitDone);
        if let Some(data) = data {
            bench.create(data);
        }
        assert!(bench.state.wants_version());
        bench.state.kubernetes_minor(27);
        bench
    }

    fn create(&mut self, data: &[(&str, &str)]) {
        self.data = Some(data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect());
        self.show();
    }

    /// Delivers the ConfigMap's current content.
    fn show(&mut self) {
        self.revision += 1;
        self.deliver_event();
        assert!(self.state.wants_config_map(), "another client wrote it");
        let data = ConfigMapData { texts: self.data.clone().unwrap(), binary: self.binary };
        self.state.config_map_read(Some((self.revision.to_string(), data)));
    }

    /// Delivers a watch event with the current resource version.
    fn deliver_event(&mut self) {
        self.state.config_map(changed(CONFIG_MAP, self.revision.to_string()));
    }

    /// Assesses, applies the patch, and returns the keys that it changed: `+key` written, `-key` removed.
    fn round(&mut self, now: &str) -> String {
        self.state.assess(now.parse().unwrap()).unwrap();
        let Some(patch) = self.state.patch() else { return String::new() };
        assert_eq!(patch["metadata"]["resourceVersion"], self.revision.to_string());
        let data = self.data.as_mut().unwrap();
        let mut changed = Vec::new();
        for (key, value) in patch["data"].as_object().unwrap() {
            match value.as_str() {
                Some(text) => drop(data.insert(key.clone(), text.to_owned())),
                None => drop(data.remove(key)),
            }
            changed.push(format!("{}{key}", if value.is_null() { '-' } else { '+' }));
        }
        self.revision += 1;
        self.state.config_map_written(self.revision.to_string(), &patch);
        self.deliver_event();
        assert!(!self.state.wants_config_map(), "the state knows its own write");
        assert_eq!(self.state.patch(), None);
        let data = self.state.config_map.get().map(|(_, data)| &data.texts);
        assert_eq!(data, self.data.as_ref());
        changed.join(" ")
    }

    fn insight(&self, key: &str) -> Value {
        yaml::from_str(&self.data.as_ref().unwrap()[key]).unwrap()
    }

    fn health(&self) -> Vec<(String, Value)> {
        let keys = self.data.as_ref().unwrap().keys().filter(|key| *key != "usc.cpi.cv-version");
        keys.map(|key| (key.clone(), self.insight(key))).collect()
    }
}

fn object(message: &str) -> Value {
    json!({"metadata": {"name": "version"}, "status": {
        "conditions": [
            {"type": "Progressing", "status": "True", "message": message},
            {"type": "Failing", "status": "False"},
        ],
        "history": [{"state": "Partial", "version": "4.14.1", "startedTime": T1}],
        "capabilities": {"enabledCapabilities": ["Build", "Console"]},
    }})
}

fn crd(enumerated: &[&str]) -> Value {
    let lists = json!({"enabledCapabilities": {"items": {"enum": enumerated}}});
    let status = json!({"properties": {"capabilities": {"properties": lists}}});
    let schema = json!({"openAPIV3Schema": {"properties": {"status": status}}});
    json!({"spec": {"versions": [{"served": true, "storage": true, "schema": schema}]}})
}

fn listed<T>(name: &str, object: Option<T>) -> impl Iterator<Item = Event<(String, T)>> {
    let object = object.map(|object| Event::InitApply((name.to_owned(), object)));
    [Some(Event::Init), object, Some(Event::InitDone)].into_iter().flatten()
}

fn changed<T>(name: &str, value: T) -> Event<(String, T)> {
    Event::Apply((name.to_owned(), value))
}

fn firing(name: &str, since: &str) -> ActiveAlert {
    let labels = json!({"alertname": name, "severity": "warning"});
    ActiveAlert::parse(&json!({"labels": labels, "annotations": {}, "state": "firing", "activeAt": since}))
}

#[test]
fn assesses_nothing_before_all_objects_are_known() {
    let mut state = State::default();
    state.config_map(Event::Init);
    let data = BTreeMap::from([("usc.cpi.cv-version".to_owned(), "old".to_owned())]);
    state.config_map(Event::InitApply((CONFIG_MAP.to_owned(), "1".to_owned())));
    state.config_map(Event::InitDone);
    state.config_map_read(Some(("1".to_owned(), ConfigMapData { texts: data, binary: 0 })));
    state.assess(T1.parse().unwrap()).unwrap();
    assert_eq!((state.patch(), state.wants_version()), (None, false));
}

#[test]
fn tolerates_an_empty_config_map_before_the_first_insight() {
    let mut bench = Bench::new(None, None, Some(&[]));
    assert_eq!(bench.round(T1), "");
    bench.state.cluster_version(changed("version", Object::new(object("10%"))));
    assert_eq!(bench.round(T2), "+usc.cpi.cv-version");
}

#[test]
fn keeps_insights_in_memory_until_the_config_map_is_created() {
    let mut bench = Bench::new(Some(object("10%")), None, None);
    assert_eq!(bench.round(T1), "");
    bench.create(&[]);
    assert_eq!(bench.round(T2), "+usc.cpi.cv-version");
    let insight = bench.insight("usc.cpi.cv-version");
    assert_eq!((&insight["acquiredAt"], &insight["type"]), (&json!(T1), &json!("ClusterVersion")));
    assert_eq!(insight["clusterVersion"]["versions"]["target"]["version"], "4.14.1");
}

#[test]
fn writes_nothing_if_only_the_time_changes() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[]));
    assert_eq!(bench.round(T1), "+usc.cpi.cv-version");
    assert_eq!(bench.round(T2), "");
    bench.state.cluster_version(changed("version", Object::new(object("10%"))));
    assert_eq!(bench.round(T2), "");
    bench.state.cluster_version(changed("version", Object::new(object("20%"))));
    assert_eq!(bench.round(T2), "+usc.cpi.cv-version");
}

#[test]
fn keeps_foreign_keys_and_corrects_own_keys() {
    let stale =
        [("usc.cpi.0ld", "x"), ("usc.ni.node-a", "x"), ("mine", "x"), ("usc.cpi.cv-version", "broken: [")];
    let mut bench = Bench::new(Some(object("10%")), None, Some(&stale));
    assert_eq!(bench.round(T1), "-usc.cpi.0ld +usc.cpi.cv-version");
    bench.create(&[("mine", "y"), ("usc.cpi.cv-version", "edited")]);
    assert_eq!(bench.round(T2), "+usc.cpi.cv-version");
    assert_eq!(bench.insight("usc.cpi.cv-version")["acquiredAt"], T1);
    bench.state.cluster_version(Event::Delete(("version".to_owned(), Object::new(json!({})))));
    assert_eq!(bench.round(T2), "-usc.cpi.cv-version");
    assert_eq!(bench.data.unwrap().into_keys().collect::<Vec<_>>(), ["mine"]);
}

#[test]
fn a_new_process_keeps_the_times_of_the_old_one() {
    let mut old = Bench::new(Some(object("10%")), Some(crd(&["Console"])), Some(&[]));
    old.round(T1);
    let left: Vec<(&str, &str)> =
        old.data.as_ref().unwrap().iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let mut new = Bench::new(Some(object("10%")), Some(crd(&["Console"])), Some(&left));
    assert_eq!(new.round(T2), "");
    new.state.cluster_version(changed("version", Object::new(object("20%"))));
    assert_eq!(new.round(T2), "+usc.cpi.cv-version");
    let insight = new.insight("usc.cpi.cv-version");
    assert_eq!(insight["clusterVersion"]["conditions"][0]["lastTransitionTime"], T1);
}

#[test]
fn reports_a_frozen_status_from_its_first_sighting_until_its_cause_is_gone() {
    let mut bench = Bench::new(Some(object("10%")), Some(crd(&["Build", "Console"])), Some(&[]));
    bench.round("2024-01-01T00:30:00Z");
    assert!(bench.health().is_empty());
    bench.state.crd(changed(CLUSTER_VERSION_CRD, crd(&["Console"])));
    assert!(bench.state.wants_version());
    let wrote = bench.round(T1);
    let [(key, insight)] = &bench.health()[..] else { panic!("{wrote}") };
    assert_eq!(wrote, format!("+{key}"));
    assert_eq!(insight["health"]["startedAt"], T1);
    assert_eq!(insight["uid"], key["usc.cpi.".len()..]);
    assert_eq!(bench.round(T2), "", "it lasts");
    bench.state.mark_version_stale();
    assert!(bench.state.wants_version());
    bench.state.kubernetes_minor(31);
    assert_eq!(bench.round(T2), "", "a server that ratchets; it may be one of several");
    assert_eq!(bench.state.due().unwrap().to_string(), "2024-01-01T02:01:00Z");
    assert_eq!(bench.round("2024-01-01T02:00:59Z"), "");
    assert_eq!(bench.round("2024-01-01T02:01:00Z"), format!("-{key}"));
    bench.state.kubernetes_minor(30);
    assert_eq!(bench.round("2024-01-01T03:00:00Z"), format!("+{key}"));
    bench.state.crd(changed(CLUSTER_VERSION_CRD, crd(&["Build", "Console"])));
    bench.round("2024-01-01T04:00:00Z");
    assert_eq!(bench.round("2024-01-01T05:00:00Z"), format!("-{key}"), "a CRD that knows");
}

#[test]
fn ignores_events_older_than_the_last_patch() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[]));
    bench.round(T1);
    bench.state.config_map(changed(CONFIG_MAP, "1".to_owned()));
    assert!(!bench.state.wants_config_map());
    assert_eq!(bench.round(T2), "");
}

#[test]
fn assesses_the_control_plane_without_machine_configs() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[("usc.ni.node-a", "x")]));
    bench.state.node(Event::Init);
    bench.state.node(Event::InitDone);
    bench.state.pool(Event::Init);
    bench.state.pool(Event::InitDone);
    assert_eq!(bench.round(T1), "+usc.cpi.cv-version");
    bench.state.machine_config(Event::Init);
    bench.state.machine_config(Event::InitDone);
    assert_eq!(bench.round(T2), "-usc.ni.node-a", "now it is sure that there is no such node");
}

fn operator(name: &str, status: &Value) -> Event<(String, Operator)> {
    let annotations = json!({"include.release.openshift.io/self-managed-high-availability": "true"});
    let metadata = json!({"name": name, "annotations": annotations});
    changed(name, Operator::read(&json!({"metadata": metadata, "status": status})))
}

#[test]
fn operator_insights_follow_the_target_version_and_the_machine_config_operator_image() {
    let mut towards = object("10%");
    towards["status"]["desired"] = json!({"version": "4.14.0"});
    let mut bench = Bench::new(Some(towards.clone()), None, Some(&[]));
    let at = |version: &str| json!({"name": "operator", "version": version});
    bench.state.operator(operator("etcd", &json!({"versions": [at("4.14.0")]})));
    let image = json!({"name": "operator-image", "version": "new"});
    bench.state.operator(operator("machine-config", &json!({"versions": [at("4.14.0"), image]})));
    bench.state.operator(changed("own", Operator::read(&json!({"metadata": {"name": "own"}}))));
    assert_eq!(bench.round(T1), "+usc.cpi.co-etcd +usc.cpi.cv-version");
    let reason = |bench: &Bench, name: &str| {
        bench.insight(&format!("usc.cpi.co-{name}"))["clusterOperator"]["conditions"][0]["reason"].clone()
    };
    assert_eq!(reason(&bench, "etcd"), "Updated");
    bench.state.operator_image(changed("machine-config-operator", Some("new".to_owned())));
    assert_eq!(bench.round(T1), "+usc.cpi.co-machine-config +usc.cpi.cv-version");
    assert_eq!(reason(&bench, "machine-config"), "Updated");
    bench.state.operator_image(changed("machine-config-operator", Some("newer".to_owned())));
    assert_eq!(bench.round(T1), "+usc.cpi.co-machine-config +usc.cpi.cv-version");
    assert_eq!(reason(&bench, "machine-config"), "CannotDetermine");
    towards["status"]["desired"] = json!({"version": "4.14.1"});
    bench.state.cluster_version(changed("version", Object::new(towards)));
    assert_eq!(bench.round(T1), "+usc.cpi.co-etcd +usc.cpi.cv-version");
    bench.state.operator(Event::Delete(("etcd".to_owned(), Operator::read(&json!({})))));
    assert_eq!(bench.round(T1), "-usc.cpi.co-etcd");
}

#[test]
fn nothing_is_due_before_the_update_status_is_listed() {
    let mut bench = Bench::new(Some(object("10%")), None, Some(&[]));
    bench.state.alerts(vec![firing("A", T2)]);
    bench.round(T2);
    bench.state.alerts(Vec::new());
    bench.round(T2);
    assert!(bench.state.due().is_some(), "an insight leaves");
    // A due time in the past would keep the controller from receiving the list.
    bench.state.status_object.apply_crd_event(Event::Apply((UPDATE_STATUS_CRD.to_owned(), true)));
    assert_eq!(bench.state.due(), None);
}
