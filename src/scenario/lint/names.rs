//! Warns of names that do not exist in the cluster, and of conditions and reasons that no component sets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::text::{did_you_mean, nearest};
use windtunnel_openshift::release::Release;
use windtunnel_update_status::assessment::node::phase::Phase;

use crate::plan::{
    Action, Check, ClusterPlan, ExpectedState, FaultTarget, InjectedFault, InsightRef, Keep, Kept, ObjectRef,
    Step, Subject, TextMatch,
};
use crate::scenario::lint::vocabulary::{self, Types};

/// The MachineConfigPools of every cluster.
const POOLS: [&str; 2] = ["master", "worker"];

/// The names in a cluster, including those that steps have created so far.
#[derive(Debug, Clone)]
pub(super) struct Names {
    operators: BTreeSet<String>,
    nodes: BTreeMap<&'static str, u32>,
    made: BTreeSet<String>,
    publishes: bool,
}

impl Names {
    /// Returns the names of a cluster at the start of its run.
    pub(super) fn of(cluster: &ClusterPlan) -> Self {
        let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let operators = releases.flat_map(Release::operators);
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Self {
            operators: operators.map(|operator| operator.cluster_operator.clone()).collect(),
            nodes: [("master", cluster.control_plane_nodes), ("worker", cluster.worker_nodes)].into(),
            made: cluster.objects.iter().map(|planned| name(&planned.object)).collect(),
            publishes: cluster.insights || cluster.feature_set == "DevPreviewNoUpgrade",
        }
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(action) => self.of_action(action),
            Step::Expect(expectation) => self.of_what(&expectation.what),
            Step::Keep(Keep { what: Kept::Field(object, _), .. }) => {
                self.object(object).into_iter().collect()
            }
            Step::Retry(retry) => {
                retry.steps.iter().flat_map(|planned| self.warnings_about(&planned.step)).collect()
            }
            Step::Try(_) | Step::Run(_) | Step::Advance(_) | Step::At(_) | Step::Keep(_) => Vec::new(),
        }
    }

    fn of_action(&mut self, action: &Action) -> Vec<String> {
        let found = match action {
            Action::Fault { fault: InjectedFault::Node(name, _), .. }
            | Action::Heal(FaultTarget::Node(name)) => self.node(name),
            Action::Fault { fault: InjectedFault::Operator(name, _), .. }
            | Action::Heal(FaultTarget::Operator(name)) => self.operator(name),
            Action::Fault { fault: InjectedFault::RenderFlips(name, _), .. }
            | Action::Heal(FaultTarget::Pool(name)) => self.pool(name),
            Action::Apply(object) => {
                let strange = self.is_no_pool(object);
                self.made.extend(object["metadata"]["name"].as_str().map(str::to_owned));
                self.publishes |= object["spec"]["featureSet"] == "DevPreviewNoUpgrade";
                strange
            }
            Action::Join { node, .. } => {
                let is_new = self.made.insert(node.clone());
                let is_there = !is_new || self.is_first(node);
                is_there.then(|| format!("there is a node {node} already"))
            }
            Action::PublishInsights => {
                self.publishes = true;
                None
            }
            _ => None,
        };
        found.into_iter().collect()
    }

    fn of_what(&self, what: &ExpectedState) -> Vec<String> {
        let mut found = Vec::new();
        match what {
            ExpectedState::Object(object, checks) | ExpectedState::Never(object, checks) => {
                found.extend(self.object(object));
                found.extend(words_of_object(object, checks));
            }
            ExpectedState::Insight(insight, checks) => {
                found.extend(self.insight(insight));
                found.extend(words_of_insight(insight, checks));
            }
            // While nothing publishes insights, every insight is absent.
            ExpectedState::NoInsight(insight, checks) | ExpectedState::NeverInsight(insight, checks) => {
                let nobody = "nobody publishes insights by now, so that none is there says nothing: begin with `insights: true` (in features: `Given insights are published`)";
                found.extend((!self.publishes).then(|| nobody.to_owned()));
                found.extend(insight.about.as_ref().and_then(|about| self.object(about)));
                found.extend(words_of_insight(insight, checks));
            }
            ExpectedState::Reboots { node, .. } => found.extend(self.node(node)),
            ExpectedState::Phase { node, phase } => {
                found.extend(self.node(node));
                found.extend(unsaid(&[*phase]));
            }
            ExpectedState::Phases { node, phases } => {
                found.extend(self.node(node));
                found.extend(unsaid(phases));
            }
            ExpectedState::Statuses { of: Subject::Object(object), condition, .. } => {
                found.extend(self.object(object));
                found.extend(unknown_type(
                    vocabulary::object_condition_types(&object.resource.kind),
                    &object.resource.kind,
                    condition,
                ));
            }
            ExpectedState::Statuses { of: Subject::Insight(insight), condition, .. } => {
                found.extend(self.insight(insight));
                found.extend(unknown_type(
                    vocabulary::insight_condition_types(&insight.kind),
                    &insight_name(insight),
                    condition,
                ));
            }
            ExpectedState::Writes(writes) | ExpectedState::OnlyWrites(writes) => {
                for write in writes {
                    let Some(object) = &write.object else { continue };
                    found.extend(self.object(object));
                    found.extend(words_of_object(object, &write.checks));
                }
            }
            _ => (),
        }
        found
    }

    fn object(&self, object: &ObjectRef) -> Option<String> {
        match &object.resource {
            resource if *resource == NODES => self.node(&object.name),
            resource if *resource == CLUSTER_OPERATORS => self.operator(&object.name),
            resource if *resource == MACHINE_CONFIG_POOLS => self.pool(&object.name),
            _ => None,
        }
    }

    fn insight(&self, insight: &InsightRef) -> Option<String> {
        let about = insight.about.as_ref().and_then(|about| self.object(about));
        about.or_else(|| match insight.kind.as_str() {
            _ if insight.name.is_empty() => None,
            "Node" => self.node(&insight.name),
            "ClusterOperator" => self.operator(&insight.name),
            "MachineConfigPool" => self.pool(&insight.name),
            _ => None,
        })
    }

    /// Returns why no pool of this name exists.
    fn pool(&self, name: &str) -> Option<String> {
        if name.ends_with('*') || self.made.contains(name) || POOLS.contains(&name) {
            return None;
        }
        let pools = POOLS.into_iter().chain(self.made.iter().map(String::as_str));
        Some(format!("the cluster has no pool {name}{}", did_you_mean(name, pools)))
    }

    /// Returns a warning for an applied pool that would have no nodes and no configuration.
    fn is_no_pool(&self, object: &Value) -> Option<String> {
        let selects = |field: &str| !object["spec"][field].is_null();
        let is_meant = object["kind"] == "MachineConfigPool"
            && !selects("nodeSelector")
            && !selects("machineConfigSelector");
        self.pool(object["metadata"]["name"].as_str().filter(|_| is_meant)?)
    }

    /// Returns why no node of this name exists. Names that do not follow `master-N` or `worker-N` are
    /// accepted.
    fn node(&self, name: &str) -> Option<String> {
        let (role, number, count) = self.numbered(name)?;
        (number >= count && !self.made.contains(name)).then(|| match count {
            0 => format!("there is no node {name}: the cluster has no {role}s"),
            count => format!("there is no node {name}: the last one is {role}-{}", count - 1),
        })
    }

    /// Returns whether the initial cluster has a node of this name.
    fn is_first(&self, name: &str) -> bool {
        self.numbered(name).is_some_and(|(_, number, count)| number < count)
    }

    /// Splits a name such as `worker-2` into role and number, and adds the initial count of that role.
    fn numbered<'a>(&self, name: &'a str) -> Option<(&'a str, u32, u32)> {
        let (role, number) = name.rsplit_once('-')?;
        Some((role, number.parse().ok()?, *self.nodes.get(role)?))
    }

    /// Returns why no release of the run has an operator of this name.
    fn operator(&self, name: &str) -> Option<String> {
        if name.ends_with('*') || self.made.contains(name) || self.operators.contains(name) {
            return None;
        }
        let hint = did_you_mean(name, self.operators.iter().map(String::as_str));
        Some(format!("no release of this scenario has an operator {name}{hint}"))
    }
}

/// Returns why a node cannot be in one of these phases.
fn unsaid(phases: &[Phase]) -> Option<String> {
    let why = "no machine-config daemon says that its node is Rebooting: it is Updating until it is back";
    phases.contains(&Phase::Rebooting).then(|| why.to_owned())
}

/// Returns how messages call an insight.
fn insight_name(insight: &InsightRef) -> String {
    format!("insight {}", insight.kind)
}

/// Returns warnings about condition types that the kind lacks, and reasons that no component sets.
fn words_of_object(object: &ObjectRef, checks: &[Check]) -> Vec<String> {
    let kind = object.resource.kind.as_ref();
    let reasons = |condition: &str| match kind {
        "ClusterVersion" => vocabulary::reasons_of_cluster_version(condition),
        _ => &[],
    };
    words(kind, vocabulary::object_condition_types(kind), reasons, checks)
}

/// Returns the same warnings for insights.
fn words_of_insight(insight: &InsightRef, checks: &[Check]) -> Vec<String> {
    let reasons = |condition: &str| vocabulary::reasons_of_insights(&insight.kind, condition);
    words(&insight_name(insight), vocabulary::insight_condition_types(&insight.kind), reasons, checks)
}

fn words(
    whose: &str,
    types: Option<Types>,
    reasons: impl Fn(&str) -> &'static [&'static str],
    checks: &[Check],
) -> Vec<String> {
    let mut found = Vec::new();
    for check in checks {
        match check {
            Check::Condition { kind, reason, .. } => {
                found.extend(unknown_type(types, whose, kind));
                let Some(TextMatch::Equals(reason)) = reason else { continue };
                let known = reasons(kind);
                if !reason.is_empty() && !known.is_empty() && !known.contains(&reason.as_str()) {
                    let hint = hint(reason, known);
                    found.push(format!("no {whose} gives `{reason}` as a reason for {kind}{hint}"));
                }
            }
            Check::NoCondition(kind) => found.extend(unknown_type(types, whose, kind)),
            _ => (),
        }
    }
    found
}

/// Returns why nothing sets a condition of this type. For kinds that others may extend, only likely typos are
/// reported.
fn unknown_type(types: Option<Types>, whose: &str, kind: &str) -> Option<String> {
    let Types { known, closed } = types?;
    if known.contains(&kind) || (!closed && nearest(kind, known.iter().copied()).is_none()) {
        return None;
    }
    Some(format!("no {whose} has a condition `{kind}`{}", hint(kind, known)))
}

/// Returns the nearest word as a hint, or else all known words.
fn hint(word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known.iter().copied());
    if near.is_empty() { format!("; there are `{}`", known.join("`, `")) } else { near }
}
