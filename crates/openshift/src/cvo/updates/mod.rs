//! The available-updates loop: queries the update service, evaluates risks, and writes the updates into the
//! status.
//!
//! `fetch.rs` has the messages about the update service, `preflights.rs` the risks of preflight checks.

mod accepted;
mod alerts;
mod applies;
mod fetch;
pub(super) mod preflights;
mod recommend;
mod risks;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::registry::digest_of;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Object, View};

use self::accepted::Accepted;
pub(super) use self::accepted::{accepted_risks_text, can_accept};
use self::alerts::OwnRisks;
use self::applies::Exposure;
use self::fetch::{Fetched, fetch};
use self::preflights::Preflights;
use self::risks::Queries;
use super::behaviour::Behaviour;
use super::upgradeable::risks as risks_of_state;
use super::{desired, validation};
use crate::environment::Environment;
use crate::graph::{Node, Risk};
use crate::monitoring;
use crate::release::{Architecture, Release};

/// How long the last successful answer stays valid while the service fails.
const ANSWER_VALIDITY: SignedDuration = SignedDuration::from_hours(24);

/// How often Recommended gets a new transition time while a risk cannot be evaluated.
const REFRESH_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// The available updates and their risks, from one request to the update service to the next.
#[derive(Debug, Clone)]
pub(super) struct Updates {
    /// The minimum time between two requests.
    interval: SignedDuration,
    last: Option<UpdateRequest>,
    fetched: Fetched,
    /// Risks from the cluster's own state.
    own_risks: OwnRisks,
    /// Objects that the payload deletes and that still exist.
    deletions: Vec<String>,
    /// Results of preflight checks.
    preflights: Preflights,
    /// The fetched updates with the cluster's own risks.
    offered: Fetched,
    retrieved: Condition,
    /// The condition Recommended of each conditional update by image, as a list of conditions.
    recommended: Vec<(String, Vec<Value>)>,
    /// Risks that the administrator accepts. `None` if this release does not support it.
    accepted: Option<Accepted>,
    /// The condition Applies of each risk, as a list of conditions. Empty if risks cannot be accepted.
    applies: Vec<(Risk, Vec<Value>)>,
    queries: Queries,
    /// When Recommended gets a new transition time although nothing has changed.
    refresh_at: Option<Time>,
}

/// One request to the update service: its time and parameters.
#[derive(Debug, Clone)]
struct UpdateRequest {
    at: Time,
    upstream: String,
    channel: String,
    architecture: Architecture,
    /// Time of the last successful request, or of the first one with this channel and upstream.
    settled_at: Time,
}

impl UpdateRequest {
    fn is_for(&self, cluster_version: &Object) -> bool {
        self.upstream == cluster_version.text("/spec/upstream")
            && self.channel == cluster_version.text("/spec/channel")
    }
}

impl Updates {
    /// The state before the first request.
    pub(super) fn new(interval: SignedDuration) -> Self {
        Self {
            interval,
            last: None,
            fetched: Fetched::default(),
            own_risks: OwnRisks::default(),
            deletions: Vec::new(),
            preflights: Preflights::default(),
            offered: Fetched::default(),
            retrieved: Condition::new("RetrievedUpdates", "False", "", ""),
            recommended: Vec::new(),
            accepted: None,
            applies: Vec::new(),
            queries: Queries::default(),
            refresh_at: None,
        }
    }

    /// The time of the loop's next run.
    pub(super) fn wake_at(&self) -> Option<Time> {
        let request = self.last.as_ref().map(|last| last.at + self.interval);
        [request, self.next_evaluation_at()].into_iter().flatten().min()
    }

    /// The time of the next evaluation of risks if nothing changes.
    fn next_evaluation_at(&self) -> Option<Time> {
        [self.queries.retry_at(), self.refresh_at].into_iter().flatten().min()
    }

    /// Requests updates and evaluates risks if either is due. Returns whether there are changes to report.
    ///
    /// Updates are always those from the operator's `own` release, even while it applies another one.
    pub(super) fn run(
        &mut self,
        environment: &Environment,
        view: &View,
        alerts: &[ActiveAlert],
        cluster_version: &Object,
        own: &Release,
        now: Time,
    ) -> bool {
        let same = self.last.as_ref().is_some_and(|last| last.is_for(cluster_version));
        let architecture = desired::architecture(cluster_version, own);
        let due = !same
            || self
                .last
                .as_ref()
                .is_none_or(|last| last.at + self.interval <= now || last.architecture != architecture);
        let accepted = can_accept(own, view).then(|| Accepted::from_spec(cluster_version));
        let weighs_cluster = accepted.is_some() && alerts::are_risks(own);
        let mut own_risks = if weighs_cluster {
            self.cluster_risks(view, alerts, cluster_version, own)
        } else {
            OwnRisks::default()
        };
        own_risks.of_targets.clone_from(&self.preflights);
        let changed = accepted != self.accepted || own_risks != self.own_risks;
        if !due && !changed && self.next_evaluation_at().is_none_or(|at| at > now) {
            return false;
        }
        let before = (self.fetched.clone(), self.retrieved.clone(), self.recommended.clone());
        (self.accepted, self.own_risks) = (accepted, own_risks);
        if due {
            self.request_updates(environment, cluster_version, own, same, now);
        }
        self.evaluate(Behaviour::for_release(own), environment, view, now);
        !same || before != (self.fetched.clone(), self.retrieved.clone(), self.recommended.clone())
    }

    /// Time of the last request.
    pub(super) fn requested_at(&self) -> Option<Time> {
        self.last.as_ref().map(|last| last.at)
    }

    /// Time and channel of the last request.
    pub(super) fn last_request(&self) -> Option<(Time, &str)> {
        self.last.as_ref().map(|last| (last.at, last.channel.as_str()))
    }

    /// The update targets: recommended releases, and those with risks.
    pub(super) fn targets(&self) -> (Vec<&Node>, Vec<&Node>) {
        let conditional = || self.offered.conditional.iter().zip(&self.recommended);
        let is_good = |conditions: &[Value]| condition::is_true_in(conditions, "Recommended");
        let mut recommended: Vec<&Node> = self.offered.updates.iter().collect();
        recommended.extend(conditional().filter(|(_, (_, found))| is_good(found)).map(|((node, _), _)| node));
        recommended.sort_by(|a, b| b.version.cmp(&a.version));
        (recommended, conditional().map(|((node, _), _)| node).collect())
    }

    /// The risks from the cluster's own state.
    fn cluster_risks(
        &self,
        view: &View,
        alerts: &[ActiveAlert],
        cluster_version: &Object,
        own: &Release,
    ) -> OwnRisks {
        let of_minors = risks_of_state::upgradeable_risks(
            Behaviour::for_release(own),
            cluster_version,
            &self.deletions,
            view,
        );
        OwnRisks { of_all: alerts::risks(alerts), of_minors, line: own.line(), ..OwnRisks::default() }
    }

    /// Stores the objects that the payload deletes and that still exist.
    pub(super) fn set_deletions(&mut self, deletions: Vec<String>) {
        self.deletions = deletions;
    }

    /// The results of preflight checks. Changes take effect in the next run.
    pub(super) fn preflights(&mut self) -> &mut Preflights {
        &mut self.preflights
    }

    fn request_updates(
        &mut self,
        environment: &Environment,
        cluster_version: &Object,
        own: &Release,
        same: bool,
        now: Time,
    ) {
        let settled_at = self.last.as_ref().filter(|_| same).map_or(now, |last| last.settled_at);
        let mut request = UpdateRequest {
            at: now,
            upstream: cluster_version.text("/spec/upstream").to_owned(),
            channel: cluster_version.text("/spec/channel").to_owned(),
            architecture: desired::architecture(cluster_version, own),
            settled_at,
        };
        match fetch(environment, cluster_version, own, request.architecture) {
            Ok(fetched) => {
                request.settled_at = now;
                self.fetched = fetched;
                self.retrieved = Condition::new("RetrievedUpdates", "True", "", "");
            }
            Err(condition) => {
                // A failed request does not invalidate the previous answer.
                let fails =
                    matches!(&*condition.reason, "RemoteFailed" | "ResponseFailed" | "ResponseInvalid");
                if !(fails && same && now.duration_since(request.settled_at) < ANSWER_VALIDITY) {
                    self.fetched = Fetched::default();
                }
                self.retrieved = condition;
            }
        }
        self.last = Some(request);
    }

    /// Evaluates Recommended of all conditional updates.
    fn evaluate(&mut self, behaviour: Behaviour, environment: &Environment, view: &View, now: Time) {
        self.offered = alerts::merge(&self.fetched, &self.own_risks);
        self.queries.begin();
        let query = |text: &str| monitoring::is_true(text, environment, view, now);
        let (mut recommended, mut must_refresh) = (Vec::new(), false);
        for (node, risks) in &self.offered.conditional {
            let exposed: Vec<_> =
                risks.iter().map(|risk| (risk, self.queries.exposed(risk, &query, now))).collect();
            let old = self.recommended.iter().find(|(image, _)| *image == node.image);
            let is_unknown = exposed.iter().any(|(_, exposed)| exposed.is_err());
            let refreshes = is_unknown && behaviour.refreshes_recommended;
            let old = old.filter(|_| !refreshes);
            must_refresh |= refreshes;
            let mut conditions = old.map(|(_, conditions)| conditions.clone()).unwrap_or_default();
            let found = recommend::recommended(&exposed, self.accepted.as_ref(), behaviour.reports_exposure);
            condition::set(&mut conditions, &found, now);
            recommended.push((node.image.clone(), conditions));
        }
        self.recommended = recommended;
        self.refresh_at = must_refresh.then(|| now + REFRESH_INTERVAL);
        self.applies =
            match &self.accepted {
                None => Vec::new(),
                Some(_) => applies::conditions(&self.offered.conditional, &self.applies, now, |risk| {
                    match self.own_risks.of_targets.applies(risk) {
                        Some(found) => Exposure::Found(found),
                        None => Exposure::Evaluated(self.queries.exposed(risk, &query, now)),
                    }
                }),
            };
    }

    /// Writes the updates into a status and returns RetrievedUpdates. Keeps the stored updates while the
    /// spec's channel or upstream differs from that of the last request. It also keeps them if the upstream
    /// is no URL, because the operator's status code ignores such a spec.
    pub(super) fn write_status(&self, cluster_version: &Object, status: &mut Value) -> Option<Condition> {
        if !validation::is_url(cluster_version.text("/spec/upstream")) {
            return None;
        }
        self.last.as_ref().filter(|last| last.is_for(cluster_version))?;
        let (available, _) = self.targets();
        let conditional = self.offered.conditional.iter().zip(&self.recommended);
        let available: Vec<Value> = available.into_iter().map(release).collect();
        status["availableUpdates"] = if available.is_empty() { Value::Null } else { Value::Array(available) };
        let conditional: Vec<Value> = conditional
            .map(|((node, risks), (_, conditions))| {
                let update = conditional_update(node, risks, conditions);
                if self.accepted.is_some() { applies::with_names(update, &self.applies) } else { update }
            })
            .collect();
        applies::write_risks(&self.applies, status);
        if !conditional.is_empty() {
            status["conditionalUpdates"] = Value::Array(conditional);
        } else if let Some(status) = status.as_object_mut() {
            status.remove("conditionalUpdates");
        }
        Some(self.retrieved.clone())
    }

    /// A release for `status.desired`. Its URL and channels come from the payload's metadata; if that has no
    /// channels, from the update graph.
    pub(super) fn desired(&self, current: &Release) -> Value {
        let conditional = self.fetched.conditional.iter().map(|(node, _)| node);
        let known = self.fetched.current.iter().chain(&self.fetched.updates).chain(conditional);
        let mut status = json!({ "version": current.version.to_string(), "image": current.image });
        if !current.url.is_empty() {
            status["url"] = json!(current.url);
        }
        current.add_architecture(&mut status);
        // The same digest in another repository is the same release.
        let is_same = |node: &&Node| {
            node.image == current.image
                || digest_of(&current.image).is_some_and(|d| digest_of(&node.image) == Some(d))
        };
        let own = current.payload.as_ref().map(|payload| &payload.channels).filter(|own| !own.is_empty());
        let of_graph = || known.into_iter().find(is_same).map(|node| &node.channels);
        if let Some(channels) = own.or_else(of_graph) {
            status["channels"] = json!(channels);
        }
        status
    }
}

fn release(node: &Node) -> Value {
    json!({
        "version": node.version.to_string(),
        "image": node.image,
        "url": node.url,
        "channels": node.channels,
    })
}

fn conditional_update(node: &Node, risks: &[Risk], conditions: &[Value]) -> Value {
    let risks: Vec<Value> = risks.iter().map(Risk::to_json).collect();
    json!({ "release": release(node), "risks": risks, "conditions": conditions })
}
