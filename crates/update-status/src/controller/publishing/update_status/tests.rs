//! Informers in, the status of an UpdateStatus out.

use serde_json::json;
use windtunnel_core::alert::ActiveAlert;

use super::*;
use crate::assessment::cluster_version::upstream;
use crate::assessment::health::{Findings, PriorInsights, assess_alerts};
use crate::assessment::node::Pool;
use crate::assessment::pool::{NodeCounts, assess};

const NOW: &str = "2024-01-01T00:00:00Z";

fn now() -> Time {
    NOW.parse().unwrap()
}

fn cluster_version(progressing: &str) -> Insight {
    let object = json!({
        "metadata": {"name": "version"},
        "status": {
            "conditions": [{"type": "Progressing", "status": progressing}],
            "history": [{"state": "Partial", "version": "4.18.4"}],
        },
    });
    Insight {
        uid: "cv-version".to_owned(),
        acquired_at: now(),
        detail: Detail::ClusterVersion(upstream(&object, now())),
    }
}

fn pool(name: &str) -> Insight {
    let pool = Pool::read(&json!({"metadata": {"name": name}}));
    let detail = Detail::MachineConfigPool(assess(&pool, &NodeCounts::default(), now()));
    Insight { uid: format!("mcp-{name}"), acquired_at: now(), detail }
}

fn alerts(count: usize, size: usize) -> Vec<Insight> {
    let alert = |number: usize| {
        let labels = json!({"alertname": format!("A{number}"), "severity": "warning"});
        let annotations = json!({"description": "x".repeat(size)});
        let alert = json!({"labels": labels, "annotations": annotations, "state": "firing", "activeAt": NOW});
        ActiveAlert::parse(&alert)
    };
    let alerts: Vec<ActiveAlert> = (0..count).map(alert).collect();
    let mut findings = Findings::new(PriorInsights { now: now(), earlier: &|_| None });
    assess_alerts(&alerts, None, &mut findings);
    findings.done().insights
}

fn update_status(control_plane: Vec<Insight>, nodes: Vec<Insight>) -> Value {
    let mut informers = [Informer::new("cpi"), Informer::new("ni")];
    informers[0].replace(control_plane, now()).unwrap();
    informers[1].replace(nodes, now()).unwrap();
    let [control_plane, nodes] = &informers;
    status([control_plane, nodes, &Informer::of_producers()], &Value::Null, ROOM, now()).unwrap().value()
}

#[test]
fn insights_on_whole_parts_fit_however_many_alerts_fire() {
    for size in [0, 4000] {
        let control_plane = [vec![cluster_version("True")], alerts(300, size)].concat();
        let status = update_status(control_plane, vec![pool("master"), pool("worker")]);
        assert_eq!(status["controlPlane"]["resource"]["name"], "version");
        assert_eq!(status["controlPlane"]["poolResource"]["name"], "master");
        assert_eq!(status["controlPlane"]["conditions"][0]["status"], "True");
        assert_eq!(status["workerPools"][0]["informers"][0]["insights"][0]["uid"], "mcp-worker");
        assert_eq!(status["conditions"][1]["reason"], "TooManyInsights");
        assert!(status.to_string().len() < ROOM + 4096);
    }
}

#[test]
fn pools_with_invalid_names_are_left_out_and_counted() {
    let long = "x".repeat(64);
    let status =
        update_status(vec![cluster_version("True")], vec![pool("worker"), pool("infra.gpu"), pool(&long)]);
    let pools: Vec<&Value> =
        status["workerPools"].as_array().unwrap().iter().map(|pool| &pool["name"]).collect();
    assert_eq!(pools, ["worker"]);
    let complete = &status["conditions"][1];
    assert_eq!(complete["status"], "False");
    assert!(complete["message"].as_str().unwrap().starts_with("2 insights exceed the limits"), "{complete}");
}

#[test]
fn converts_an_invalid_condition_status_to_unknown() {
    let status = update_status(vec![cluster_version("Maybe")], Vec::new());
    let insight = &status["controlPlane"]["informers"][0]["insights"][0]["clusterVersion"];
    assert_eq!(insight["conditions"][0]["status"], "Unknown");
    assert_eq!(status["controlPlane"]["conditions"][0]["status"], "Unknown");
}

#[test]
fn published_insights_on_nodes_stay_until_nodes_are_known() {
    let nodes = vec![pool("master"), pool("worker")];
    let before = update_status(vec![cluster_version("True")], nodes);
    let mut begun = Informer::new("cpi");
    begun.replace(vec![cluster_version("False")], now()).unwrap();
    let mut unknown = Informer::new("ni");
    let after = status([&begun, &unknown, &Informer::of_producers()], &before, ROOM, now()).unwrap().value();
    assert_eq!(after["workerPools"], before["workerPools"]);
    assert_eq!(after["controlPlane"]["poolResource"], before["controlPlane"]["poolResource"]);
    assert_eq!(after["controlPlane"]["informers"][1], before["controlPlane"]["informers"][1]);
    assert_ne!(after["controlPlane"]["conditions"], before["controlPlane"]["conditions"]);
    unknown.replace(Vec::new(), now()).unwrap();
    let known = status([&begun, &unknown, &Informer::of_producers()], &before, ROOM, now()).unwrap().value();
    assert_eq!((&known["workerPools"], known["controlPlane"].get("poolResource")), (&json!([]), None));
}

/// A health insight of the informer `store`.
fn produced(number: usize, pool: Option<&str>) -> Insight {
    let pool = pool.map(|name| json!({"resource": "machineconfigpools", "name": name}));
    let health = json!({
        "startedAt": NOW,
        "scope": {"type": "ControlPlane", "resources": pool.into_iter().collect::<Vec<_>>()},
        "impact": {"level": "Critical", "type": "None", "summary": "s", "description": "x".repeat(4000)},
        "remediation": {"reference": "r"},
    });
    let health = serde_json::from_value(health).unwrap();
    Insight { uid: format!("store.n{number}"), acquired_at: now(), detail: Detail::Health(health) }
}

#[test]
fn producers_have_informers_of_their_own_and_get_the_space_that_is_left() {
    let mut informers = [Informer::new("cpi"), Informer::new("ni"), Informer::of_producers()];
    let own = [vec![cluster_version("True")], alerts(100, 4000)].concat();
    informers[0].replace(own.clone(), now()).unwrap();
    informers[1].replace(vec![pool("worker")], now()).unwrap();
    let produced =
        (0..100).map(|number| produced(number, [None, Some("worker"), Some("phantom")][number % 3]));
    informers[2].replace_at_once(produced).unwrap();
    let [control_plane, nodes, producers] = &informers;
    let status = status([control_plane, nodes, producers], &Value::Null, ROOM, now()).unwrap().value();
    let of = |part: &Value, name: &str| {
        let mut informers = part["informers"].as_array().unwrap().iter();
        let informer = informers.find(|informer| informer["name"] == name).unwrap();
        informer["insights"].as_array().unwrap().clone()
    };
    assert_eq!(of(&status["controlPlane"], "cpi").len(), own.len());
    let of_store = of(&status["controlPlane"], "store");
    assert_eq!(of_store[0]["uid"], "n0");
    assert!((10..34).contains(&of_store.len()), "{}", of_store.len());
    assert!(!of(&status["workerPools"][0], "store").is_empty());
    assert_eq!(status["workerPools"].as_array().unwrap().len(), 1, "a producer creates no pool");
    assert_eq!(status["conditions"][1]["reason"], "TooManyInsights");
}

#[test]
fn foreign_informers_leave_once_producers_are_known() {
    let mut own = [Informer::new("cpi"), Informer::new("ni")];
    own[0].replace(vec![cluster_version("True")], now()).unwrap();
    own[1].replace(Vec::new(), now()).unwrap();
    let mut producers = Informer::of_producers();
    let before = json!({"controlPlane": {"informers": [{"name": "else", "insights": [{"uid": "a"}]}]}});
    let names = |producers: &Informer| {
        let status = status([&own[0], &own[1], producers], &before, ROOM, now()).unwrap().value();
        let informers = status["controlPlane"]["informers"].as_array().unwrap().iter();
        informers.map(|informer| informer["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&producers), "cpi else");
    producers.replace_at_once([]).unwrap();
    assert_eq!(names(&producers), "cpi");
}
