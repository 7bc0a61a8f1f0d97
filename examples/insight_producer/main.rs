//! A producer of update insights that delivers them as objects.
//!
//! It reports each Deployment of its namespace that lacks replicas, as UpdateInsights that it renews every minute and
//! deletes when the Deployment has recovered. `registration.yaml` beside this file registers it.
//!
//! ```sh
//! cargo run --example insight_producer -- NAMESPACE INFORMER [--once]
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// A tenth of the default expiry: a few renewals may fail before the insights leave.
const PERIOD: Duration = Duration::from_secs(60);
/// The field manager of the producer. The controller takes its time as that of a renewal.
const MANAGER: &str = "insight-producer";

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (namespace, informer, is_once) = match &arguments[..] {
        [namespace, informer] => (namespace, informer, false),
        [namespace, informer, once] if once == "--once" => (namespace, informer, true),
        _ => return Err("usage: insight_producer NAMESPACE INFORMER [--once]".into()),
    };
    let producer = Producer::new(&Client::try_default().await?, namespace, informer);
    loop {
        match producer.deliver().await {
            Ok(count) => println!("delivered {count} insights"),
            Err(error) if is_once => return Err(error.into()),
            // The insights stay until they expire, so one failure loses nothing.
            Err(error) => eprintln!("cannot deliver: {error}"),
        }
        if is_once {
            return Ok(());
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Reports the Deployments of a namespace.
struct Producer {
    deployments: Api<Deployment>,
    insights: Api<DynamicObject>,
    namespace: String,
    informer: String,
}

impl Producer {
    fn new(client: &Client, namespace: &str, informer: &str) -> Self {
        let kind = GroupVersionKind::gvk("update.openshift.io", "v1alpha1", "UpdateInsight");
        Self {
            deployments: Api::namespaced(client.clone(), namespace),
            insights: Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind)),
            namespace: namespace.to_owned(),
            informer: informer.to_owned(),
        }
    }

    /// Applies all current insights and deletes the others. Returns how many there are.
    async fn deliver(&self) -> kube::Result<usize> {
        let all = ListParams::default();
        let current: BTreeMap<String, Value> =
            self.deployments.list(&all).await?.iter().filter_map(|found| self.insight(found)).collect();
        for (name, insight) in &current {
            self.insights.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(insight)).await?;
        }
        for old in self.insights.list(&all).await? {
            let name = old.name_any();
            if !current.contains_key(&name) && old.data["spec"]["informer"] == *self.informer {
                self.insights.delete(&name, &DeleteParams::default()).await?;
            }
        }
        Ok(current.len())
    }

    /// Returns the insight about a Deployment, if it lacks replicas.
    #[expect(clippy::disallowed_methods, reason = "a program of its own, outside the simulation")]
    fn insight(&self, deployment: &Deployment) -> Option<(String, Value)> {
        let status = deployment.status.as_ref()?;
        let missing = status.unavailable_replicas.filter(|missing| *missing > 0)?;
        let name = deployment.name_any();
        let conditions = status.conditions.iter().flatten();
        let mut unavailable = conditions.filter(|found| {
            found.type_.as_deref() == Some("Available") && found.status.as_deref() == Some("False")
        });
        let since = unavailable.find_map(|found| found.last_transition_time.clone());
        let health = json!({
            "startedAt": since.or_else(|| deployment.creation_timestamp())?,
            "scope": {
                "type": "ControlPlane",
                "resources": [
                    {"group": "apps", "resource": "deployments", "namespace": self.namespace, "name": name},
                ],
            },
            "impact": {
                "level": "Warning",
                "type": "Application Availability",
                "summary": format!("Deployment {name} lacks {missing} replicas"),
                "description": "Draining nodes takes longer, or ends its service, while replicas are missing.",
            },
            "remediation": {
                "reference": "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/",
            },
        });
        let spec = json!({
            "informer": self.informer,
            // Without a change of the spec there is no renewal.
            "renewTime": jiff::Timestamp::now().to_string(),
            "health": health,
        });
        let insight = json!({
            "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInsight",
            "metadata": {"name": name}, "spec": spec,
        });
        Some((name, insight))
    }
}
