//! Warns of names that do not exist in the cluster, and of conditions and reasons that no component sets.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use serde_json::Value;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::text::{did_you_mean, nearest};
use windtunnel_openshift::release::Release;
use windtunnel_update_status::assessment::node::phase::Phase;

use crate::plan::{
    Action, Check, ClusterPlan, ExpectedState, FaultTarget, InjectedFault, InsightRef, Keep, ObjectRef, Step,
    Subject, Target, TextMatch, ValueSource,
};
use crate::scenario::lint::vocabulary::{self, Types};

/// The most changed letters of a reason that is misspelt, and not another one.
const MISSPELT: usize = 2;

/// The MachineConfigPools of every cluster.
const POOLS: [&str; 2] = ["master", "worker"];

/// The names in a cluster, including those that steps have created so far.
#[derive(Debug, Clone)]
pub(super) struct Names {
    releases: BTreeSet<Version>,
    operators: BTreeSet<String>,
    /// The initial number of nodes by the first part of their names.
    nodes: BTreeMap<String, u32>,
    initial_nodes: BTreeSet<String>,
    pools: BTreeSet<String>,
    created: BTreeSet<String>,
    publishes_insights: bool,
    /// Whether programs of the user run, which may publish insights.
    has_programs: bool,
    /// The objects and faults of the scenario so far, which may have reasons of their own.
    own_words: String,
}

impl Names {
    /// Returns the names of a cluster at the start of its run.
    pub(super) fn new(cluster: &ClusterPlan) -> Self {
        let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let operators = releases.flat_map(Release::operators);
        let plain = [("master", cluster.control_plane_nodes), ("worker", cluster.worker_nodes)];
        let plain = plain.into_iter().map(|(role, count)| (role.to_owned(), count));
        let pooled = cluster.pools.iter().map(|pool| (pool.name.clone(), pool.count));
        let own_pools = cluster.pools.iter().map(|pool| pool.name.clone());
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let versions = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        Self {
            releases: versions.map(|release| release.version.clone()).collect(),
            operators: operators.map(|operator| operator.cluster_operator.clone()).collect(),
            nodes: plain.chain(pooled).collect(),
            initial_nodes: node_names(cluster),
            pools: POOLS.into_iter().map(str::to_owned).chain(own_pools).collect(),
            created: cluster.objects.iter().map(|planned| name(&planned.object)).collect(),
            publishes_insights: cluster.insights || cluster.feature_set == "DevPreviewNoUpgrade",
            has_programs: !cluster.programs.is_empty(),
            own_words: cluster.objects.iter().map(|planned| planned.object.to_string()).collect(),
        }
    }

    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Act(action) => self.action_warnings(action),
            Step::Expect(expectation) => self.expectation_warnings(&expectation.what),
            Step::Keep(Keep { what: ValueSource::Field(object, _), .. }) => {
                self.unknown_object(object).into_iter().collect()
            }
            Step::Retry(retry) => {
                retry.steps.iter().flat_map(|planned| self.warnings_about(&planned.step)).collect()
            }
            Step::Try(_)
            | Step::Run(_)
            | Step::Advance(_)
            | Step::At(_)
            | Step::Keep(_)
            | Step::KeepCluster(_) => Vec::new(),
        }
    }

    fn action_warnings(&mut self, action: &Action) -> Vec<String> {
        match action {
            Action::Fault { fault, .. } => self.own_words += &format!("{fault:?}"),
            Action::Apply(object) | Action::Patch { patch: object, .. } => {
                self.own_words += &object.to_string();
            }
            _ => {}
        }
        let found = match action {
            Action::Update { to: Target::Version(version), .. } => self.unknown_release(version),
            Action::Fault { fault: InjectedFault::Node(name, _), .. }
            | Action::Heal(FaultTarget::Node(name)) => self.unknown_node(name),
            Action::Fault { fault: InjectedFault::Operator(name, _), .. }
            | Action::Heal(FaultTarget::Operator(name)) => self.unknown_operator(name),
            Action::Fault {
                fault: InjectedFault::RenderFlips(name, _) | InjectedFault::Pool(name, _),
                ..
            }
            | Action::Heal(FaultTarget::Pool(name)) => self.unknown_pool(name),
            Action::Patch { object, .. } => self.unknown_object(object),
            Action::Apply(object) => {
                let warning = self.pool_without_selectors(object);
                self.created.extend(object["metadata"]["name"].as_str().map(str::to_owned));
                self.publishes_insights |= object["spec"]["featureSet"] == "DevPreviewNoUpgrade";
                warning
            }
            Action::Join { node, .. } => {
                let is_new = self.created.insert(node.clone());
                let exists = !is_new || self.is_initial_node(node);
                exists.then(|| format!("node {node} already exists"))
            }
            Action::PublishInsights => {
                self.publishes_insights = true;
                None
            }
            _ => None,
        };
        found.into_iter().collect()
    }

    fn unknown_release(&self, version: &Version) -> Option<String> {
        let is_unknown = !self.releases.contains(version);
        is_unknown
            .then(|| format!("no release {version} exists yet: write `Given release {version} exists` first"))
    }

    fn expectation_warnings(&self, what: &ExpectedState) -> Vec<String> {
        let mut found = Vec::new();
        match what {
            ExpectedState::Absent(object) => {
                let unknown = self.unknown_object(object);
                found.extend(unknown.map(|why| format!("{why}; this expectation always holds")));
            }
            ExpectedState::Object(object, checks) => {
                found.extend(self.unknown_object(object));
                found.extend(self.object_word_warnings(object, checks));
            }
            ExpectedState::Never(object, checks) => {
                let unknown = self.unknown_object(object).into_iter();
                let found_words = unknown.chain(self.object_word_warnings(object, checks));
                found.extend(found_words.map(|why| format!("{why}; this expectation always holds")));
            }
            ExpectedState::Insight(insight, checks) => {
                found.extend(self.nothing_publishes());
                found.extend(self.unknown_insight(insight));
                found.extend(insight_word_warnings(insight, checks));
            }
            // While nothing publishes insights, every insight is absent.
            ExpectedState::NoInsight(insight, checks) | ExpectedState::NeverInsight(insight, checks) => {
                let message = "no insights are published yet, so this expectation always holds: start with `insights: true` (in features: `Given insights are published`)";
                found.extend((!self.publishes_insights).then(|| message.to_owned()));
                found.extend(insight.about.as_ref().and_then(|about| self.unknown_object(about)));
                found.extend(insight_word_warnings(insight, checks));
            }
            ExpectedState::Reboots { node, .. } => found.extend(self.unknown_node(node)),
            ExpectedState::Phase { node, phase } => {
                found.extend(self.unknown_node(node));
                found.extend(unreported_phase(&[*phase]));
            }
            ExpectedState::Phases { node, phases } => {
                found.extend(self.unknown_node(node));
                found.extend(unreported_phase(phases));
            }
            ExpectedState::Statuses { subject: Subject::Object(object), condition, .. } => {
                found.extend(self.unknown_object(object));
                found.extend(unknown_type(
                    vocabulary::object_condition_types(&object.resource.kind),
                    &object.resource.kind,
                    condition,
                ));
            }
            ExpectedState::Statuses { subject: Subject::Insight(insight), condition, .. } => {
                found.extend(self.nothing_publishes());
                found.extend(self.unknown_insight(insight));
                found.extend(unknown_type(
                    vocabulary::insight_condition_types(&insight.kind),
                    &insight_name(insight),
                    condition,
                ));
            }
            ExpectedState::Writes(writes, _) | ExpectedState::OnlyWrites(writes, _) => {
                for write in writes {
                    let Some(object) = &write.object else { continue };
                    found.extend(self.unknown_object(object));
                    found.extend(self.object_word_warnings(object, &write.checks));
                }
            }
            _ => (),
        }
        found
    }

    /// Returns a warning about an expected insight where nothing publishes any.
    fn nothing_publishes(&self) -> Option<String> {
        let message = "nothing publishes insights in this cluster, so this expectation fails: add `insights: true` to `cluster` (in \
                       features: `Given insights are published`), or the step `publish-insights`";
        (!self.publishes_insights && !self.has_programs).then(|| message.to_owned())
    }

    /// Returns warnings about condition types that the kind lacks, and reasons that no component sets.
    fn object_word_warnings(&self, object: &ObjectRef, checks: &[Check]) -> Vec<String> {
        let kind = object.resource.kind.as_ref();
        let reasons = |condition: &str| match kind {
            "ClusterVersion" => vocabulary::reasons_of_cluster_version(condition),
            _ => &[],
        };
        let mut found = word_warnings(kind, vocabulary::object_condition_types(kind), reasons, checks);
        let is_own = |reason: &str| self.own_words.contains(reason);
        found.extend(checks.iter().filter_map(|check| misspelt_reason(kind, check, &is_own)));
        found
    }

    fn unknown_object(&self, object: &ObjectRef) -> Option<String> {
        match &object.resource {
            resource if *resource == NODES => self.unknown_node(&object.name),
            resource if *resource == CLUSTER_OPERATORS => self.unknown_operator(&object.name),
            resource if *resource == MACHINE_CONFIG_POOLS => self.unknown_pool(&object.name),
            _ => None,
        }
    }

    fn unknown_insight(&self, insight: &InsightRef) -> Option<String> {
        let about = insight.about.as_ref().and_then(|about| self.unknown_object(about));
        about.or_else(|| match insight.kind.as_str() {
            _ if insight.name.is_empty() => None,
            "Node" => self.unknown_node(&insight.name),
            "ClusterOperator" => self.unknown_operator(&insight.name),
            "MachineConfigPool" => self.unknown_pool(&insight.name),
            _ => None,
        })
    }

    /// Returns why no pool of this name exists.
    fn unknown_pool(&self, name: &str) -> Option<String> {
        if name.ends_with('*') || self.created.contains(name) || self.pools.contains(name) {
            return None;
        }
        let pools = self.pools.iter().chain(&self.created).map(String::as_str);
        Some(format!("the cluster has no pool {name}{}", did_you_mean(name, pools)))
    }

    /// Returns a warning for an applied pool that would have no nodes and no configuration.
    fn pool_without_selectors(&self, object: &Value) -> Option<String> {
        let selects = |field: &str| !object["spec"][field].is_null();
        let selects_nothing = object["kind"] == "MachineConfigPool"
            && !selects("nodeSelector")
            && !selects("machineConfigSelector");
        self.unknown_pool(object["metadata"]["name"].as_str().filter(|_| selects_nothing)?)
    }

    /// Returns why no node of this name exists.
    fn unknown_node(&self, name: &str) -> Option<String> {
        let is_invalid = |letter: char| {
            !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.*".contains(letter))
        };
        if name.contains(is_invalid) && !name.contains("$(") {
            let lower = name.to_ascii_lowercase();
            let hint = if self.initial_nodes.contains(&lower) {
                format!("; did you mean `{lower}`?")
            } else {
                String::new()
            };
            return Some(format!(
                "no node can be called {name}: names have lower-case letters, digits, `-` and `.`{hint}"
            ));
        }
        if name.ends_with('*')
            || self.created.contains(name)
            || self.initial_nodes.contains(name)
            || name.contains("$(")
        {
            return None;
        }
        let numbered = self.numbered(name).filter(|(_, number, count)| number >= count);
        Some(match numbered {
            Some((role, _, 0)) => format!("there is no node {name}: the cluster has no {role}s"),
            Some((role, _, count)) => {
                format!("there is no node {name}: the last one is {role}-{}", count - 1)
            }
            None => {
                let known = self.initial_nodes.iter().chain(&self.created).map(String::as_str);
                format!("there is no node {name}{}", did_you_mean(name, known))
            }
        })
    }

    /// Returns whether the initial cluster has a node of this name.
    fn is_initial_node(&self, name: &str) -> bool {
        self.initial_nodes.contains(name)
    }

    /// Splits a name such as `worker-2` into role and number, and adds the initial count of that role.
    fn numbered<'a>(&self, name: &'a str) -> Option<(&'a str, u32, u32)> {
        let (role, number) = name.rsplit_once('-')?;
        Some((role, number.parse().ok()?, *self.nodes.get(role)?))
    }

    /// Returns why no release of the run has an operator of this name.
    fn unknown_operator(&self, name: &str) -> Option<String> {
        if name.ends_with('*') || self.created.contains(name) || self.operators.contains(name) {
            return None;
        }
        let hint = did_you_mean(name, self.operators.iter().map(String::as_str));
        Some(format!("no release of this scenario has an operator {name}{hint}"))
    }
}

/// Returns the names of the initial nodes.
fn node_names(cluster: &ClusterPlan) -> BTreeSet<String> {
    if cluster.past.nodes.is_empty() {
        return cluster.node_names().into_iter().collect();
    }
    cluster.past.nodes.iter().map(|node| node.name.clone()).collect()
}

/// Returns why a node cannot be in one of these phases.
fn unreported_phase(phases: &[Phase]) -> Option<String> {
    let why = "no machine-config daemon reports Rebooting: expect Updating until the reboot is over";
    phases.contains(&Phase::Rebooting).then(|| why.to_owned())
}

/// Returns how messages call an insight.
fn insight_name(insight: &InsightRef) -> String {
    format!("insight {}", insight.kind)
}

/// Returns a warning about a reason that differs in one or two letters from a frequent one of a kind, whose other reasons come from
/// operators. Reasons of the scenario's own objects and faults are known.
fn misspelt_reason(kind: &str, check: &Check, is_own: &impl Fn(&str) -> bool) -> Option<String> {
    let Check::Condition { kind: condition, reason: Some(wanted), .. } = check else { return None };
    let known = vocabulary::frequent_reasons(kind, condition);
    wanted.equal_texts().into_iter().find_map(|reason| {
        let is_new = !known.contains(&reason) && !is_own(reason);
        let near = known.iter().find(|known| strsim::damerau_levenshtein(reason, known) <= MISSPELT);
        let near = near.filter(|_| is_new && reason.len() > 2 * MISSPELT)?;
        Some(format!("no {kind} reports the reason `{reason}` for {condition}; did you mean `{near}`?"))
    })
}

/// Returns the same warnings for insights.
fn insight_word_warnings(insight: &InsightRef, checks: &[Check]) -> Vec<String> {
    let reasons = |condition: &str| vocabulary::reasons_of_insights(&insight.kind, condition);
    word_warnings(&insight_name(insight), vocabulary::insight_condition_types(&insight.kind), reasons, checks)
}

fn word_warnings(
    subject: &str,
    types: Option<Types>,
    reasons: impl Fn(&str) -> &'static [&'static str],
    checks: &[Check],
) -> Vec<String> {
    let mut found = Vec::new();
    for check in checks {
        match check {
            Check::Condition { kind, reason, .. } => {
                found.extend(unknown_type(types, subject, kind));
                let known = reasons(kind);
                let exact = reason.iter().flat_map(TextMatch::equal_texts);
                let unknown = exact.filter(|reason| !reason.is_empty() && !known.contains(reason));
                for reason in unknown.filter(|_| !known.is_empty()) {
                    let hint = hint(reason, known);
                    found.push(format!("no {subject} reports the reason `{reason}` for {kind}{hint}"));
                }
            }
            Check::NoCondition(kind) => found.extend(unknown_type(types, subject, kind)),
            _ => (),
        }
    }
    found
}

/// Returns why nothing sets a condition of this type. For kinds that others may extend, only likely typos are
/// reported.
fn unknown_type(types: Option<Types>, subject: &str, kind: &str) -> Option<String> {
    let Types { known, closed } = types?;
    if known.contains(&kind) || (!closed && nearest(kind, known.iter().copied()).is_none()) {
        return None;
    }
    Some(format!("no {subject} has a condition `{kind}`{}", hint(kind, known)))
}

/// Returns the nearest word as a hint, or else all known words.
fn hint(word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known.iter().copied());
    if near.is_empty() { format!("; there are `{}`", known.join("`, `")) } else { near }
}
