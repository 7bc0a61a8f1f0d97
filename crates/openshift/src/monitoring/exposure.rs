//! Whether a cluster is exposed to a risk, from what is known of the cluster.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::{Resource, View};

use super::metrics::{self, Counted, Moment, Origin, origin};
use super::one_or_zero;
use super::scrapes::{self, Scraped, Scrapes};
use crate::environment::Environment;
use crate::graph::MatchingRule;
use crate::promql::{self, Metrics as _, NAME, Sample, SampleCollector, Selector};

/// The answer to the question whether a risk applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exposure {
    /// The cluster is exposed.
    Applies,
    /// The cluster is not exposed.
    DoesNotApply,
    /// The answer needs samples that are unknown; with the reasons.
    Unknown(String),
    /// No rule can be evaluated; with the operator's message.
    Error(String),
}

/// Samples of earlier scrapes, for queries that look back.
#[derive(Debug, Clone, Default)]
pub struct History(Scrapes);

impl History {
    /// The longest range of a query.
    const RANGE: SignedDuration = SignedDuration::from_hours(24);

    /// Returns the first moment after `now` at which Prometheus scrapes.
    pub fn next_scrape(now: Time) -> Time {
        scrapes::next_scrape(now)
    }

    /// Stores the samples of all metrics at the moment of a scrape, as Prometheus scrapes them.
    pub fn scrape_all(&mut self, environment: &Environment, view: &View, counted: Counted<'_>, now: Time) {
        let moment = Moment { given: &environment.metrics, ..Moment::scraped(view, now, counted) };
        let names = metrics::names(&environment.metrics);
        self.0.remember(names.iter().map(String::as_str), &moment, Self::RANGE);
    }

    /// Returns the stored samples.
    pub(super) fn scrapes(&self) -> &Scrapes {
        &self.0
    }

    /// Stores the samples of these metrics at the moment of a scrape. Scrapes without changes since the one
    /// before need not be stored.
    pub fn scrape(&mut self, metrics: &BTreeSet<String>, view: &View, now: Time) {
        let moment = Moment { operator_runs: true, ..Moment::of(view, now) };
        self.0.remember(metrics.iter().map(String::as_str), &moment, Self::RANGE);
    }
}

/// What is known of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'a> {
    /// Its objects.
    pub view: &'a View,
    /// Whether these are all objects. If not, an object that is missing may exist nevertheless.
    pub is_complete: bool,
    /// Samples of exporters that are not simulated, defined by the user.
    pub given: &'a [Sample],
    /// Samples of earlier scrapes.
    pub history: &'a History,
    /// The moment.
    pub now: Time,
}

impl Cluster<'_> {
    /// Returns whether a risk with these rules applies, as the cluster-version operator decides it: by the
    /// first rule that can be evaluated.
    pub fn exposure(&self, rules: &[MatchingRule]) -> Exposure {
        let mut errors = Vec::new();
        for rule in rules {
            let text = match rule {
                MatchingRule::Always => return Exposure::Applies,
                MatchingRule::PromQl(text) => text,
                MatchingRule::Other(kind) => {
                    errors.push(format!("no cluster-version operator knows rules of type {kind}"));
                    continue;
                }
            };
            match self.query(text) {
                Exposure::Error(error) => errors.push(error),
                decided => return decided,
            }
        }
        match errors.as_slice() {
            [one] => Exposure::Error(one.clone()),
            several => Exposure::Error(format!("[{}]", several.join(", "))),
        }
    }

    /// Returns the result of one query.
    fn query(&self, text: &str) -> Exposure {
        let expr = match promql::parse(text) {
            Ok(expr) => expr,
            Err(error) => {
                let (line, column) = error.position(text);
                return Exposure::Error(format!("{line}:{column}: parse error: {error}"));
            }
        };
        let moment = Moment { operator_runs: true, given: self.given, ..Moment::of(self.view, self.now) };
        let scraped = Scraped { moment, scrapes: &self.history.0 };
        let why = |selector: &Selector| self.why_unknown(selector, &scraped);
        let missing = promql::missing_metrics(&expr, &scraped, &why);
        if missing.is_empty() {
            return match one_or_zero(promql::evaluate(&expr, &scraped)) {
                Ok(true) => Exposure::Applies,
                Ok(false) => Exposure::DoesNotApply,
                Err(error) => Exposure::Error(error),
            };
        }
        // The result is 0 or has no samples, so it is not 1.
        if promql::is_zero_or_empty(&expr, &scraped, &why) {
            return Exposure::DoesNotApply;
        }
        Exposure::Unknown(missing.into_iter().collect::<Vec<_>>().join("; "))
    }

    /// Returns why the samples of a selector are unknown; `None` if they are known. Samples that exist are
    /// known; that there are none is known only if the source has all objects that could cause one.
    fn why_unknown(&self, selector: &Selector, scraped: &Scraped<'_>) -> Option<String> {
        let metric = selector.metric();
        if self.given.iter().any(|sample| sample.labels[NAME] == metric) {
            return None;
        }
        let source = if self.is_complete { "simulated cluster" } else { "dump" };
        let has_samples = || {
            let mut taken = SampleCollector::for_selector(selector);
            scraped.collect(metric, &mut taken);
            !taken.into_samples().is_empty()
        };
        match origin(metric) {
            None | Some(Origin::Memory) => {
                Some(format!("needs metric {metric}, which a {source} does not contain"))
            }
            Some(Origin::Storage) => {
                let of = selector.equal_to("resource").map_or_else(String::new, |name| format!(" of {name}"));
                (!self.is_complete && !has_samples())
                    .then(|| format!("needs metric {metric}{of}, and the dump has no such objects"))
            }
            Some(Origin::InNamespace(kind, namespace)) => {
                let is_known = self.is_complete || self.view.list_in(kind, namespace).next().is_some();
                (!is_known).then(|| {
                    format!("needs metric {metric}, and the dump has no {} in {namespace}", kind.kind)
                })
            }
            Some(Origin::Objects(kinds)) => {
                let missing = kinds.iter().find(|kind| self.view.list(kind).next().is_none());
                if let Some(missing) = missing {
                    return Some(format!("needs metric {metric}, and the {source} has no {}", missing.kind));
                }
                let partial = kinds.iter().find(|kind| !self.has_all(kind, selector))?;
                (!has_samples()).then(|| {
                    format!("needs metric {metric} of every {}, and a dump has only some", partial.kind)
                })
            }
        }
    }

    /// Returns whether the source has all objects of a kind that a selector can be about. A dump of some
    /// namespaces has all objects of a namespace, and all cluster-scoped ones.
    fn has_all(&self, kind: &Resource, selector: &Selector) -> bool {
        self.is_complete
            || !kind.namespaced
            || selector
                .equal_to("namespace")
                .is_some_and(|namespace| self.view.list_in(kind, namespace).next().is_some())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::{INFRASTRUCTURES, NODES, PODS};
    use windtunnel_core::{Change, ChangeKind, Object};

    use super::*;

    fn view(objects: &[(&Resource, Value)]) -> View {
        let mut view = View::default();
        for (resource, object) in objects {
            let object = Object::new(object.clone());
            let key = resource.key(object.namespace(), object.name());
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }

    fn cluster() -> View {
        let pod = |name: &str| json!({ "metadata": { "namespace": "n", "name": name }, "status": { "containerStatuses": [{ "name": "c", "image": format!("example.com/{name}") }] } });
        view(&[
            (
                &INFRASTRUCTURES,
                json!({ "metadata": { "name": "cluster" }, "status": { "platformStatus": { "type": "AWS" } } }),
            ),
            (&NODES, json!({ "metadata": { "name": "a" } })),
            (&PODS, pod("web")),
        ])
    }

    /// The answers for a dump and for a whole cluster with the same objects.
    fn answers(query: &str) -> [String; 2] {
        [false, true].map(|is_complete| {
            let (view, history) = (cluster(), History::default());
            let given = [Sample { labels: [(NAME.to_owned(), "given".to_owned())].into(), value: 1.0 }];
            let known =
                Cluster { view: &view, is_complete, given: &given, history: &history, now: Time::UNIX_EPOCH };
            match known.exposure(&[MatchingRule::PromQl(query.to_owned())]) {
                Exposure::Applies => "applies".to_owned(),
                Exposure::DoesNotApply => "no".to_owned(),
                Exposure::Unknown(why) => format!("unknown: {why}"),
                Exposure::Error(why) => format!("error: {why}"),
            }
        })
    }

    #[track_caller]
    fn check(query: &str, of_dump: &str, of_cluster: &str) {
        assert_eq!(answers(query), [of_dump, of_cluster], "{query}");
    }

    #[test]
    fn a_risk_applies_if_its_query_is_one() {
        check(r#"cluster_infrastructure_provider{type="AWS"}"#, "applies", "applies");
        check("0 * cluster_infrastructure_provider", "no", "no");
        check("given", "applies", "applies");
        let error = "error: invalid PromQL result (must be 0 or 1): 2";
        check("2 * cluster_infrastructure_provider", error, error);
        let none = "error: invalid PromQL result length must be one, but is 0";
        check(r#"cluster_infrastructure_provider{type="GCP"}"#, none, none);
        let scalar = "error: invalid PromQL result type is scalar, not vector";
        check("1", scalar, scalar);
        let invalid = "error: 1:5: parse error: expected an expression, found \"*\"";
        check("max(* 1)", invalid, invalid);
    }

    #[test]
    fn metrics_that_cannot_be_known_are_named() {
        let memory = |source: &str| {
            format!("unknown: needs metric ceph_health_status, which a {source} does not contain")
        };
        check("group(ceph_health_status)", &memory("dump"), &memory("simulated cluster"));
        let secret =
            |source: &str| format!("unknown: needs metric kube_secret_info, and the {source} has no Secret");
        check("group(kube_secret_info)", &secret("dump"), &secret("simulated cluster"));
        let none = "error: invalid PromQL result length must be one, but is 0";
        check(
            r#"group(kube_pod_container_info{image="other"})"#,
            "unknown: needs metric kube_pod_container_info of every Pod, and a dump has only some",
            none,
        );
        check(r#"group(kube_pod_container_info{image="other",namespace="n"})"#, none, none);
        check(r#"group(kube_pod_container_info{image="example.com/web"})"#, "applies", "applies");
        check(
            r#"group(apiserver_storage_objects{resource="routes.route.openshift.io"})"#,
            "unknown: needs metric apiserver_storage_objects of routes.route.openshift.io, and the dump has no such objects",
            none,
        );
        check(
            r#"group(max_over_time(apiserver_storage_objects{resource="nodes"}[1h]))"#,
            "applies",
            "applies",
        );
        let installer =
            "unknown: needs metric cluster_installer, and the dump has no ConfigMap in openshift-config";
        check("group(cluster_installer)", installer, "applies");
    }

    #[test]
    fn unknown_metrics_that_decide_nothing_do_not_matter() {
        let same = |query: &str, expected: &str| check(query, expected, expected);
        same("0 * cluster_infrastructure_provider * on () group_left (x) ceph_health_status", "no");
        same("cluster_infrastructure_provider or on (_id) ceph_health_status", "applies");
        let none = "error: invalid PromQL result length must be one, but is 0";
        same(r#"cluster_infrastructure_provider{type="GCP"} and on () ceph_health_status"#, none);
        same(r#"ceph_health_status * on () cluster_infrastructure_provider{type="GCP"}"#, none);
    }

    #[test]
    fn an_unknown_first_rule_decides_before_later_ones() {
        let (view, history) = (cluster(), History::default());
        let known =
            Cluster { view: &view, is_complete: false, given: &[], history: &history, now: Time::UNIX_EPOCH };
        let rule = |text: &str| MatchingRule::PromQl(text.to_owned());
        let unknown = known.exposure(&[rule("ceph_health_status"), MatchingRule::Always]);
        assert!(matches!(unknown, Exposure::Unknown(_)), "{unknown:?}");
        assert_eq!(known.exposure(&[rule("1"), MatchingRule::Always]), Exposure::Applies);
        let errors = known.exposure(&[rule("1"), rule("(")]);
        assert!(
            matches!(&errors, Exposure::Error(why) if why.starts_with("[invalid PromQL result type is scalar")),
            "{errors:?}"
        );
    }

    #[test]
    fn a_query_looks_back_at_earlier_scrapes() {
        let query = MatchingRule::PromQl(
            r#"max_over_time(apiserver_storage_objects{resource="nodes"}[1h]) == 1"#.to_owned(),
        );
        let (mut history, view) = (History::default(), View::default());
        let metrics = BTreeSet::from(["apiserver_storage_objects".to_owned()]);
        let at = |minutes: i64| Time::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        history.scrape(&metrics, &cluster(), at(10));
        history.scrape(&metrics, &view, at(20));
        let exposure = |now: Time| {
            let known = Cluster { view: &view, is_complete: true, given: &[], history: &history, now };
            known.exposure(std::slice::from_ref(&query))
        };
        assert_eq!(exposure(at(75)), Exposure::Applies, "the node was there until minute 20");
        assert!(matches!(exposure(at(90)), Exposure::Error(_)));
    }
}
