//! Queries: PromQL, the HTTP API of Prometheus, and the API of the update service.

use std::collections::BTreeMap;

use windtunnel_apiserver::Query;
use windtunnel_core::clock::Time;
use windtunnel_core::{Change, ChangeKind, Object, View, resources};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::monitoring::http_api::{self, Parameters, ServedState};
use windtunnel_openshift::monitoring::{Counted, History};
use windtunnel_openshift::promql::{
    self, Expr, Metrics, Sample, SampleCollector, Scrapes, evaluate, evaluate_range, is_zero_or_empty,
    missing_metrics, parse_duration, series_between, unfit_for_range_query, valid_until,
};

use super::{read_damaged, texts};
use crate::fuzz::checked_server::now;

/// Metrics with a few samples, now and in earlier scrapes.
struct Few(Vec<Sample>);

impl Few {
    fn new() -> Self {
        let sample = |name: &str, value: f64| Sample {
            labels: BTreeMap::from([
                ("name".to_owned(), name.to_owned()),
                ("le".to_owned(), value.to_string()),
            ]),
            value,
        };
        let values = [0.0, 1.0, -2.5, 1e300, f64::NAN, f64::INFINITY];
        Self(
            values
                .iter()
                .enumerate()
                .map(|(index, value)| sample(&format!("n{}", index % 4), *value))
                .collect(),
        )
    }
}

impl Metrics for Few {
    fn collect(&self, _: &str, taken: &mut SampleCollector<'_>) {
        for Sample { labels, value } in &self.0 {
            let labels: Vec<(&str, &str)> =
                labels.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            taken.add(&labels, *value);
        }
    }

    fn scrapes(&self, metric: &str, after: Time, until: Time) -> Option<Vec<Scrapes<'_>>> {
        if metric.len().is_multiple_of(2) {
            return None;
        }
        let last = now();
        let first = last - promql::SCRAPE_INTERVAL * 10;
        let is_in = after < first && last <= until;
        Some(is_in.then_some(Scrapes { first, last, samples: &self.0 }).into_iter().collect())
    }

    fn now(&self) -> Time {
        now() + promql::SCRAPE_INTERVAL
    }
}

#[test]
fn damaged_queries() {
    let mut found = texts(&[
        "sum by (name) (rate(metric{name=~\"n.*\", le!=\"1\"}[5m] offset 1m)) > bool 0.5",
        "histogram_quantile(0.9, sum without (name) (up_bucket)) or on () vector(1)",
        "label_replace(up, \"a\", \"$1-${2}\", \"name\", \"(n)(.*)\") unless ignoring (le) group_left (x) up",
        "max_over_time((time() - up)[10m:1m] @ 1704067200) ^ -2 % 3 == 1e3 atan2 0x1F",
        "topk(3, up) * on (name) group_right up{} and count_values(\"v\", up) != +Inf",
        "absent_over_time(up[1h30m]) + predict_linear(up[1h], 3600) - clamp_max(up, NaN)",
        "quantile_over_time(0.5, up[5m]) / scalar(up) # a comment\n <= day_of_month(timestamp(up @ end()))",
        "0 * max(cluster_operator_conditions{condition=\"Degraded\"} == 1) or on (_id) sort_desc(up)",
        "label_join(up, 'x', \"\\u00e9\\n\", \"name\", `le`)",
    ]);
    found.extend(rules().iter().map(|text| text.clone().into_bytes()));
    read_damaged("readers::queries::damaged_queries", &found, read_query);
}

/// A PromQL expression, evaluated at a moment and over a range.
fn read_query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (parse_duration(&text), promql::is_label_name(&text));
    match promql::parse(&text) {
        Ok(expr) => use_expression(&expr),
        Err(error) => {
            let _ = (error.position(&text), error.to_string());
        }
    }
}

fn use_expression(expr: &Expr) {
    let metrics = Few::new();
    let _ = evaluate(expr, &metrics);
    let missing =
        |selector: &promql::Selector| selector.metric().starts_with('m').then(|| "missing".to_owned());
    let _ = missing_metrics(expr, &metrics, &missing);
    let _ = is_zero_or_empty(expr, &metrics, &missing);
    let _ = (valid_until(expr, &metrics), unfit_for_range_query(expr), expr.reaches(), expr.uses_clock());
    let end = metrics.now().as_millisecond();
    let _ = series_between(expr, &metrics, end - 600_000, end);
    if unfit_for_range_query(expr).is_none() {
        let _ = evaluate_range(expr, &metrics, (end - 600_000, end), 60_000);
    }
}

/// Returns the expressions in the alerts of the base manifests.
fn rules() -> Vec<String> {
    let objects = windtunnel_openshift::manifests::objects("base").iter();
    let groups = objects.filter_map(|object| object["spec"]["groups"].as_array()).flatten();
    let rules = groups.filter_map(|group| group["rules"].as_array()).flatten();
    rules.filter_map(|rule| Some(rule["expr"].as_str()?.to_owned())).take(8).collect()
}

#[test]
fn damaged_prometheus_requests() {
    let valid = texts(&[
        "/api/v1/query?query=up&time=2024-01-01T00:00:00Z&timeout=3s",
        "/api/v1/query_range?query=sum(up)&start=1704067200&end=1704070800.5&step=1m",
        "/api/v1/series?match[]=up%7Bname%3D%22n1%22%7D&match[]=ALERTS&start=2024-01-01T00:00:00Z&limit=2",
        "/api/v1/label/name/values?match[]=up",
        "/api/v1/labels?start=1704067200",
        "/api/v1/query?query=given%20offset%205m",
        "/api/v1/rules?type=alert",
        "/api/v1/alerts",
    ]);
    read_damaged("readers::queries::damaged_prometheus_requests", &valid, read_prometheus);
}

/// Path and parameters of a request to Prometheus.
fn read_prometheus(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    let mut view = View::default();
    for object in windtunnel_openshift::manifests::objects("base") {
        let object = Object::new(object.clone());
        if let Some(resource) = resources::find(object.text("/apiVersion"), object.text("/kind")) {
            let key = resource.key(object.namespace(), object.name());
            view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
        }
    }
    let mut metrics = Few::new().0;
    for sample in &mut metrics {
        sample.labels.insert(promql::NAME.to_owned(), "given".to_owned());
    }
    let environment = Environment { metrics, ..Environment::default() };
    let history = History::default();
    let counted = Counted::default();
    let state = ServedState {
        view: &view,
        environment: &environment,
        counted,
        history: &history,
        alerts: &[],
        now: now(),
    };
    let query = Query::parse(query);
    let _ = (http_api::is_served(path), http_api::answer(path, Parameters(query.pairs()), &state));
}

#[test]
fn damaged_graph_requests() {
    let valid = texts(&[
        "channel=stable-4.16&arch=amd64&id=x&version=4.16.1",
        "channel=candidate-4.17&arch=multi",
        "arch=s390x",
    ]);
    read_damaged("readers::queries::damaged_graph_requests", &valid, read_graph);
}

/// Parameters of a request for the graph of the update service.
fn read_graph(bytes: &[u8]) {
    let query = Query::parse(&String::from_utf8_lossy(bytes));
    let _ = Environment::default().answer_graph(query.pairs());
}
