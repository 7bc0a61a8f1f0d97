//! Warns of faults that cannot act, and of `heal` without a fault before it.

use std::collections::BTreeSet;

use semver::Version;
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::text::{did_you_mean, nearest};
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

use super::at;
use crate::plan::{
    Action, ClusterPlan, ExpectedState, FaultTarget, InjectedFault, Plan, PlannedStep, Step, Target,
};
use crate::scenario::ScenarioError;

/// Clients that are neither operators nor components of a node.
const CLIENTS: [&str; 18] = [
    "administrator",
    "cluster-version-operator",
    "update-status-controller",
    "kube-scheduler",
    "machine-config-controller/drain",
    "machine-config-controller/node",
    "machine-config-controller/pinned-image-set",
    "machine-config-controller/render",
    "machine-config-controller/template",
    "machine-config-operator/nodes",
    "node-lifecycle-controller",
    "daemonset-controller",
    "deployment-controller",
    "replicaset-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "service-account-controller",
    "service-ca",
];

/// The prefix of the annotations that make an object faulty.
const ANNOTATIONS: &str = "windtunnel.dev/";

/// The targets of the faults so far, and the names that faults can have.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    targets: Vec<FaultTarget>,
    /// Whether objects may be faulty by annotations, which a step or the cluster has set.
    may_be_annotated: bool,
    clients: BTreeSet<String>,
    definitions: BTreeSet<String>,
}

impl Faults {
    /// Returns the state before the first step.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let operators = releases.flat_map(Release::operators);
        let mut clients: BTreeSet<String> = CLIENTS.map(str::to_owned).into();
        clients.extend(operators.map(|operator| format!("operator/{}", operator.cluster_operator)));
        clients.extend(cluster.node_names().iter().flat_map(|node| clients_of(node)));
        clients.extend(cluster.programs.iter().map(|program| program.name.clone()));
        let mut found =
            Self { targets: Vec::new(), may_be_annotated: false, clients, definitions: BTreeSet::new() };
        cluster.objects.iter().for_each(|planned| found.look_at(&planned.object));
        found
    }

    fn look_at(&mut self, object: &serde_json::Value) {
        self.may_be_annotated |= object["metadata"]["annotations"]
            .as_object()
            .is_some_and(|all| all.keys().any(|key| key.starts_with(ANNOTATIONS)));
        if CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) {
            self.definitions.extend(object["metadata"]["name"].as_str().map(str::to_owned));
        }
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(Action::Apply(object) | Action::Patch { patch: object, .. }) => self.look_at(object),
            Step::Act(Action::Join { node, .. }) => self.clients.extend(clients_of(node)),
            Step::Act(Action::Fault { fault, .. }) => {
                self.targets.push(fault.target());
                return self.idle_fault(fault).into_iter().collect();
            }
            Step::Act(Action::Heal(target)) => return self.healthy(target).into_iter().collect(),
            Step::Retry(retry) => {
                return retry.steps.iter().flat_map(|planned| self.warnings_about(&planned.step)).collect();
            }
            Step::Expect(expectation) => {
                let ExpectedState::Requests(limit) = &expectation.what else { return Vec::new() };
                return self
                    .unknown_client(&limit.requests, "so there are never such requests")
                    .into_iter()
                    .collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// Returns why a target has no fault that `heal` could end.
    fn healthy(&self, target: &FaultTarget) -> Option<String> {
        let is_known = self.may_be_annotated || self.targets.iter().any(|faulty| target.includes(faulty));
        (!is_known).then(|| format!("no step before this one begins a fault of {target}, so `heal` fails"))
    }

    /// Returns why a fault never acts.
    fn idle_fault(&self, fault: &InjectedFault) -> Option<String> {
        match fault {
            InjectedFault::Requests(fault) => {
                self.unknown_client(&fault.requests, "so this fault never acts")
            }
            InjectedFault::Webhook(writes) => self.unknown_client(writes, "so this fault never acts"),
            InjectedFault::Crd(name, _)
                if !manifests::is_modelled(name) && !self.definitions.contains(name) =>
            {
                let known = self.definitions.iter().map(String::as_str);
                Some(format!(
                    "neither the release nor this scenario has a CustomResourceDefinition {name}{}",
                    did_you_mean(name, known)
                ))
            }
            _ => None,
        }
    }

    /// Returns which client is probably meant. Other programs may have any name.
    fn unknown_client(&self, requests: &RequestFilter, consequence: &str) -> Option<String> {
        let name = requests.by.as_deref().filter(|name| !name.contains('*'))?;
        let is_part = |client: &String| client.split('/').any(|part| part == name);
        if self.clients.contains(name) || self.clients.iter().any(is_part) {
            return None;
        }
        let near = nearest(name, self.clients.iter().map(String::as_str))?;
        let is_operator = name.strip_suffix("-operator").is_some_and(|short| self.clients.contains(short));
        (!is_operator)
            .then(|| format!("no component is called {name}, {consequence}; did you mean `{near}`?"))
    }
}

/// Returns the clients on a node.
fn clients_of(node: &str) -> [String; 2] {
    [format!("kubelet/{node}"), format!("machine-config-daemon/{node}")]
}

/// Returns warnings about faults of releases to which no step updates.
pub(super) fn warnings(plan: &Plan) -> Vec<ScenarioError> {
    let mut requested = Requested::default();
    requested.add(&plan.timeline);
    if requested.any {
        return Vec::new();
    }
    let faults = plan.timeline.iter().filter_map(|step| match &step.step {
        Step::Act(Action::Fault { fault: InjectedFault::Release(version, _), .. }) => Some((step, version)),
        _ => None,
    });
    let idle = faults.filter(|(_, version)| {
        **version != plan.cluster.release.version
            && !requested.versions.contains(*version)
            && !requested.is_in_lines(version)
    });
    idle.map(|(step, version)| {
        at(plan, step, &format!("no step updates to release {version}, so this fault never acts"))
    })
    .collect()
}

/// The releases to which steps update.
#[derive(Debug, Default)]
struct Requested {
    versions: BTreeSet<Version>,
    lines: Vec<String>,
    /// Whether a step may update to any release.
    any: bool,
}

impl Requested {
    fn add(&mut self, steps: &[PlannedStep]) {
        for PlannedStep { step, .. } in steps {
            match step {
                Step::Act(action) => self.add_action(action),
                Step::Try(attempt) => self.add_action(&attempt.action),
                Step::Run(run) => {
                    let line = &run.command.line;
                    self.any |=
                        ["--to-latest", "--to-image", "rollback"].iter().any(|word| line.contains(word));
                    self.lines.push(line.clone());
                }
                Step::Retry(retry) => self.add(&retry.steps),
                _ => {}
            }
        }
    }

    fn add_action(&mut self, action: &Action) {
        match action {
            Action::Update { to: Target::Version(version), .. } => {
                self.versions.insert(version.clone());
            }
            Action::Update { .. } => self.any = true,
            Action::Apply(object) | Action::Patch { patch: object, .. } => {
                self.any |= !object["spec"]["desiredUpdate"].is_null();
            }
            _ => {}
        }
    }

    fn is_in_lines(&self, version: &Version) -> bool {
        let version = version.to_string();
        self.lines.iter().any(|line| line.contains(&version))
    }
}
