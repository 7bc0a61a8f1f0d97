//! The network operator's proxy controller. It writes the Proxy's status and adds the cluster's own networks
//! and names to `noProxy` (`pkg/controller/proxyconfig` of openshift/cluster-network-operator). Its
//! validation of proxies and certificate bundles is not simulated and always succeeds.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_controllers::kubelet::{MACHINE_NETWORK, POD_NETWORK};
use windtunnel_controllers::workqueue::WorkQueue;
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::resources::{DEPLOYMENTS, INFRASTRUCTURES, PROXIES};
use windtunnel_core::{Identity, Key, View, Write};

use super::identity;
use crate::{SERVICE_NETWORK, release};

/// The ClusterOperator of the network operator.
pub const NETWORK: &str = "network";

/// The service network of a default installation.
/// Entries of `noProxy` in every cluster.
const ALWAYS: [&str; 7] =
    ["127.0.0.1", "localhost", ".svc", ".cluster.local", MACHINE_NETWORK, POD_NETWORK, SERVICE_NETWORK];
/// The address of the cloud metadata service.
const METADATA: &str = "169.254.169.254";
/// The value of `noProxy` that disables proxies for everything.
const NOTHING: &str = "*";
const FIELDS: [&str; 3] = ["httpProxy", "httpsProxy", "noProxy"];

/// The proxy controller in the network operator.
#[derive(Debug, Clone)]
pub struct ProxyController {
    name: String,
    facts: release::OperatorFacts,
    queue: WorkQueue,
    started: bool,
}

impl ProxyController {
    /// The controller in the operator of `component` with these facts.
    pub fn new(facts: &release::OperatorFacts, component: &str) -> Self {
        // Each part of an operator restarts separately and needs its own name.
        let name = format!("operator/{component}/proxy");
        Self { name, facts: facts.clone(), queue: WorkQueue::default(), started: false }
    }

    /// The key of its Deployment. An operator without one exists from the start.
    fn deployment(&self) -> Option<Key> {
        let name = &self.facts.deployment;
        (!name.is_empty()).then(|| DEPLOYMENTS.key(&self.facts.namespace, name))
    }

    fn sync(&self, view: &View) -> Option<Write> {
        if self.deployment().is_some_and(|key| view.get_key(&key).is_none()) {
            return None;
        }
        let proxy = view.get_key(&proxy())?;
        let status = proxy_status(proxy, view.get_key(&infrastructure())?)?;
        let same = |field: &&str| proxy["status"][*field].as_str() == status[*field].as_str();
        if FIELDS.iter().all(same) {
            return None;
        }
        let mut value = proxy.to_value();
        value["status"] = status;
        Some(Write::update_status(&PROXIES, value))
    }
}

impl Actor for ProxyController {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn interests(&self) -> Vec<Interest> {
        let keys = [proxy(), infrastructure()].into_iter().chain(self.deployment());
        keys.map(Interest::Object).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        // Only the existence of its Deployment matters.
        let matters = |key: &Key| !key.is_kind(&DEPLOYMENTS);
        let news = input.changes.iter().any(|change| matters(&change.key) || change.old.is_none());
        if !std::mem::replace(&mut self.started, true) || news {
            self.queue.add(proxy());
        }
        self.queue.process_answers(input.answers, input.now);
        let mut step = Step::default();
        if !self.queue.take_due(input.now).is_empty()
            && let Some(write) = self.sync(input.view)
        {
            self.queue.send(&proxy(), write, &mut step.writes);
        }
        step.wake_at = self.queue.next();
        step
    }
}

fn proxy() -> Key {
    PROXIES.key("", "cluster")
}

fn infrastructure() -> Key {
    INFRASTRUCTURES.key("", "cluster")
}

/// The status of the Proxy in a cluster with this Infrastructure. `None` while the API address is unknown.
/// Empty fields are omitted.
pub fn proxy_status(proxy: &Value, infrastructure: &Value) -> Option<Value> {
    let spec = FIELDS.map(|field| proxy["spec"][field].as_str().unwrap_or_default());
    let [http, https, no] = spec;
    let no = match (spec.iter().any(|text| !text.is_empty()), no) {
        (false, _) => String::new(),
        (true, NOTHING) => NOTHING.to_owned(),
        (true, own) => no_proxy_entries(own, infrastructure)?,
    };
    let fields = FIELDS.into_iter().zip([http, https, no.as_str()]).filter(|(_, text)| !text.is_empty());
    Some(fields.map(|(field, text)| (field.to_owned(), json!(text))).collect())
}

/// The entries of `noProxy`: those of the administrator and those of the cluster, sorted.
fn no_proxy_entries(own: &str, infrastructure: &Value) -> Option<String> {
    let status = &infrastructure["status"];
    let address = status["apiServerInternalURI"].as_str()?;
    let host = address.split_once("://")?.1.split(['/', ':']).next()?;
    let mut all: BTreeSet<&str> = ALWAYS.into_iter().chain([host]).collect();
    all.extend(own.split(',').filter(|text| !text.is_empty()));
    let platform = &status["platformStatus"];
    let kind = platform["type"].as_str().unwrap_or_default();
    if ["AWS", "GCP", "Azure", "OpenStack"].contains(&kind) {
        all.insert(METADATA);
    }
    let of_region = match platform["aws"]["region"].as_str().unwrap_or_default() {
        "us-east-1" => ".ec2.internal".to_owned(),
        region => format!(".{region}.compute.internal"),
    };
    match kind {
        "AWS" => _ = all.insert(&of_region),
        "GCP" => all.extend(["metadata", "metadata.google.internal", "metadata.google.internal."]),
        _ => {}
    }
    Some(all.into_iter().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use semver::Version;
    use windtunnel_controllers::testing::Rig;

    use super::*;
    use crate::release::Release;

    fn cluster(platform: &Value) -> Value {
        json!({
            "metadata": { "name": "cluster" },
            "status": { "apiServerInternalURI": "https://api-int.a.example.com:6443", "platformStatus": platform },
        })
    }

    fn status(http: &str, no: &str, platform: &Value) -> Value {
        let proxy = json!({ "spec": { "httpProxy": http, "noProxy": no } });
        proxy_status(&proxy, &cluster(platform)).unwrap()
    }

    #[test]
    fn no_proxy_includes_the_clusters_networks_and_names() {
        let always = "10.0.0.0/16,10.128.0.0/9,127.0.0.1,";
        let rest = "172.30.0.0/16,api-int.a.example.com,localhost";
        let none = json!({ "type": "None" });
        let expected = format!(".a.example.com,.cluster.local,.svc,{always}{rest}");
        let expected = json!({ "httpProxy": "http://p", "noProxy": expected });
        assert_eq!(status("http://p", ".a.example.com,,localhost", &none), expected);
        let no_proxy =
            |platform: &Value| status("http://p", "", platform)["noProxy"].as_str().unwrap().to_owned();
        let aws = |region: &str| no_proxy(&json!({ "type": "AWS", "aws": { "region": region } }));
        let cloud = format!("{always}169.254.169.254,{rest}");
        assert_eq!(aws("us-east-1"), format!(".cluster.local,.ec2.internal,.svc,{cloud}"));
        assert_eq!(aws("eu-west-1"), format!(".cluster.local,.eu-west-1.compute.internal,.svc,{cloud}"));
        let metadata = "metadata,metadata.google.internal,metadata.google.internal.";
        assert_eq!(no_proxy(&json!({ "type": "GCP" })), format!(".cluster.local,.svc,{cloud},{metadata}"));
    }

    #[test]
    fn without_a_proxy_the_status_is_empty_and_a_star_stays_alone() {
        let none = json!({ "type": "None" });
        assert_eq!(status("", "", &none), json!({}));
        assert_eq!(status("http://p", "*", &none), json!({ "httpProxy": "http://p", "noProxy": "*" }));
        let proxy = json!({ "spec": { "httpProxy": "http://p" } });
        assert_eq!(proxy_status(&proxy, &json!({ "status": {} })), None, "the address of the API is unknown");
    }

    #[test]
    fn the_status_follows_the_spec_once_the_operator_is_deployed() {
        let mut rig = Rig::new();
        rig.put(&INFRASTRUCTURES, cluster(&json!({ "type": "None" })));
        let spec = json!({ "httpProxy": "http://p", "noProxy": "*" });
        rig.put(&PROXIES, json!({ "metadata": { "name": "cluster" }, "spec": spec }));
        let release = Release::find(&Version::new(4, 18, 3)).unwrap();
        let facts = release.operator(NETWORK).unwrap().clone();
        let (namespace, name) = (facts.namespace.clone(), facts.deployment.clone());
        rig.seat(move || Box::new(ProxyController::new(&facts, "cluster-network-operator")));
        rig.run(60);
        assert_eq!(rig.log, Vec::<String>::new(), "it is not installed yet");
        rig.put(&DEPLOYMENTS, json!({ "metadata": { "namespace": namespace, "name": name } }));
        rig.run(60);
        rig.write(&Write::merge_patch(&PROXIES, "", "cluster", json!({ "spec": null })));
        rig.run(60);
        let update = "update proxies.config.openshift.io/cluster";
        assert_eq!(rig.log, [format!("0:01:00 {update}"), format!("0:02:00 {update}")]);
        assert_eq!(rig.view.get_key(&proxy()).unwrap()["status"], json!({}));
    }
}
