//! The HTTP API of Prometheus, as Thanos answers it behind its Route: queries, series, alerts and rules.

mod ranges;
mod series;

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use windtunnel_core::View;
use windtunnel_core::alert::{ActiveAlert, NAME as ALERT_NAME};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::PROMETHEUS_RULES;
use windtunnel_core::text::parse_units;

use super::metrics::{self, Moment};
use super::scrapes::Scraped;
use super::{Counted, History};
use crate::environment::Environment;
use crate::promql::{self, Expr, Sample, Series, Value};

/// Returns whether a path is served.
pub fn is_served(path: &str) -> bool {
    label_in(path).is_some()
        || matches!(
            path,
            "/api/v1/query"
                | "/api/v1/query_range"
                | "/api/v1/series"
                | "/api/v1/labels"
                | "/api/v1/alerts"
                | "/api/v1/rules"
        )
}

/// Returns the label in the path of its values.
fn label_in(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/label/")?.strip_suffix("/values").filter(|label| !label.contains('/'))
}

/// The parameters of a request: names with their values.
#[derive(Debug, Clone, Copy)]
pub struct Parameters<'a>(pub &'a [(String, String)]);

impl<'a> Parameters<'a> {
    /// Returns the first value; empty if the parameter is missing.
    fn get(&self, name: &str) -> &'a str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns all values.
    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The state of the cluster and of its Prometheus.
#[derive(Debug)]
pub struct ServedState<'a> {
    /// The objects.
    pub view: &'a View,
    /// Samples that are defined by the user.
    pub environment: &'a Environment,
    /// The counters of components.
    pub counted: Counted<'a>,
    /// The samples of earlier scrapes.
    pub history: &'a History,
    /// Pending and firing alerts.
    pub alerts: &'a [ActiveAlert],
    /// The time of the cluster. Queries are evaluated at it, whatever time the client asks for.
    pub now: Time,
}

impl ServedState<'_> {
    /// Returns the metrics of the moment and of earlier scrapes.
    fn scraped(&self) -> Scraped<'_> {
        let moment = Moment::scraped(self.view, self.now, self.counted);
        Scraped {
            moment: Moment { given: &self.environment.metrics, ..moment },
            scrapes: self.history.scrapes(),
        }
    }

    /// Returns the names of all metrics.
    fn metrics(&self) -> BTreeSet<String> {
        metrics::names(&self.environment.metrics)
    }
}

/// Returns HTTP status and JSON body of the answer; `None` for a path that is not served.
pub fn answer(path: &str, parameters: Parameters<'_>, state: &ServedState<'_>) -> Option<(u16, Json)> {
    Some(match (path, label_in(path)) {
        (_, Some(label)) => series::values(label, &parameters, state),
        ("/api/v1/query", _) => evaluate(parameters.get("query"), state),
        ("/api/v1/query_range", _) => ranges::answer(&parameters, state),
        ("/api/v1/series", _) => series::all(&parameters, state),
        ("/api/v1/labels", _) => series::labels(&parameters, state),
        ("/api/v1/alerts", _) => success(&json!({ "alerts": alerts(state.alerts) })),
        ("/api/v1/rules", _) => success(&json!({ "groups": groups(state) })),
        _ => return None,
    })
}

fn success(data: &Json) -> (u16, Json) {
    (200, json!({ "status": "success", "data": data }))
}

fn failure(code: u16, kind: &str, error: &str) -> (u16, Json) {
    (code, json!({ "status": "error", "errorType": kind, "error": error }))
}

fn bad_data(error: &str) -> (u16, Json) {
    failure(400, "bad_data", error)
}

/// Parses the expression in a parameter.
///
/// # Errors
/// The answer that rejects the request.
fn parsed(parameter: &str, text: &str) -> Result<Expr, (u16, Json)> {
    promql::parse(text).map_err(|error| {
        let (line, column) = error.position(text);
        bad_data(&format!("invalid parameter \"{parameter}\": {line}:{column}: parse error: {error}"))
    })
}

fn evaluate(query: &str, state: &ServedState<'_>) -> (u16, Json) {
    let expr = match parsed("query", query) {
        Ok(expr) => expr,
        Err(rejected) => return rejected,
    };
    let value = promql::evaluate(&expr, &state.scraped());
    let at = seconds(state.now.as_millisecond());
    let point = |value: f64| json!([at, number(value)]);
    match value {
        Ok(Value::Scalar(number)) => success(&json!({ "resultType": "scalar", "result": point(number) })),
        Ok(Value::Vector(samples)) => {
            let of = |sample: &Sample| json!({ "metric": sample.labels, "value": point(sample.value) });
            let result: Vec<Json> = samples.iter().map(of).collect();
            success(&json!({ "resultType": "vector", "result": result }))
        }
        Ok(Value::Range(series)) => success(&json!({ "resultType": "matrix", "result": matrix(&series) })),
        Ok(Value::Text(text)) => success(&json!({ "resultType": "string", "result": [at, text] })),
        Err(error) => failure(422, "execution", &error),
    }
}

/// Series with their values.
fn matrix(series: &[Series]) -> Vec<Json> {
    let of = |series: &Series| {
        let values: Vec<Json> =
            series.points().map(|(at, value)| json!([seconds(at), number(value)])).collect();
        json!({ "metric": series.labels, "values": values })
    };
    series.iter().map(of).collect()
}

/// Formats a value, with an exponent only if it is very small or very large.
fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if size != 0.0 && !(1e-6..1e21).contains(&size) && !value.is_nan() {
        let text = format!("{value:e}");
        return if size < 1.0 { text } else { text.replace('e', "e+") };
    }
    value.to_string()
}

/// Converts milliseconds to seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds are far below 2^52")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn alerts(active: &[ActiveAlert]) -> Vec<Json> {
    let of = |active: &ActiveAlert| {
        let alert = &active.alert;
        json!({
            "labels": alert.labels,
            "annotations": alert.annotations,
            "state": alert.state.as_str(),
            "activeAt": active.active_at.unwrap_or_default().to_string(),
            "value": "1e+00",
        })
    };
    active.iter().map(of).collect()
}

/// The groups of all rule objects, each rule with its alerts.
fn groups(state: &ServedState<'_>) -> Vec<Json> {
    let mut groups = Vec::new();
    for object in state.view.list(&PROMETHEUS_RULES) {
        for group in object.list("/spec/groups") {
            let rules =
                group["rules"].as_array().into_iter().flatten().filter_map(|of| rule(of, state.alerts));
            groups.push(json!({
                "name": group["name"],
                "file": format!("{}-{}.yaml", object.namespace(), object.name()),
                "interval": 30,
                "rules": rules.collect::<Vec<_>>(),
            }));
        }
    }
    groups
}

/// An alerting rule; `None` for a recording rule, which the simulated Prometheus does not evaluate.
fn rule(rule: &Json, active: &[ActiveAlert]) -> Option<Json> {
    let name = rule["alert"].as_str()?;
    let severity = rule["labels"]["severity"].as_str().unwrap_or_default();
    let is_of = |active: &&ActiveAlert| {
        active.alert.label(ALERT_NAME) == name && active.alert.label("severity") == severity
    };
    let active: Vec<ActiveAlert> = active.iter().filter(is_of).cloned().collect();
    let alerts = alerts(&active);
    let has = |state: &str| alerts.iter().any(|alert| alert["state"] == state);
    let state = ["firing", "pending"].into_iter().find(|state| has(state)).unwrap_or("inactive");
    let hold = rule["for"].as_str().and_then(parse_units).unwrap_or_default();
    let texts = |key: &str| if rule[key].is_object() { rule[key].clone() } else { json!({}) };
    let query = rule["expr"].as_str().map_or_else(|| rule["expr"].to_string(), str::to_owned);
    Some(json!({
        "type": "alerting", "name": name, "state": state, "query": query, "duration": hold.as_secs(),
        "labels": texts("labels"), "annotations": texts("annotations"), "alerts": alerts, "health": "ok",
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use windtunnel_core::alert::{Alert, AlertState};
    use windtunnel_core::resources::{INFRASTRUCTURES, NODES};
    use windtunnel_core::{Change, ChangeKind, Object, Resource};

    use super::*;

    fn view() -> View {
        let mut view = View::default();
        let mut add = |resource: &Resource, object: Json| {
            let object = Object::new(object);
            let key = resource.key(object.namespace(), object.name());
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        };
        add(
            &INFRASTRUCTURES,
            json!({ "metadata": { "name": "cluster" }, "status": { "platformStatus": { "type": "AWS" } } }),
        );
        let rules = json!([
            { "alert": "Down", "expr": "up == 0", "for": "10m", "labels": { "severity": "critical" } },
            { "alert": "Slow", "expr": 1, "labels": { "severity": "info" } },
            { "record": "r", "expr": "up" },
        ]);
        add(
            &PROMETHEUS_RULES,
            json!({ "metadata": { "namespace": "n", "name": "p" }, "spec": { "groups": [{ "name": "g", "rules": rules }] } }),
        );
        view
    }

    fn ask(path: &str, query: &str) -> Option<(u16, Json)> {
        ask_with(path, &[("query", query)])
    }

    /// The answer at 100.5 s. The node was seen by the scrapes of 30 and 60 s only.
    fn ask_with(path: &str, parameters: &[(&str, &str)]) -> Option<(u16, Json)> {
        let labels = [("alertname", "Down"), ("severity", "critical")];
        let labels: BTreeMap<_, _> = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let alert = Alert { labels, annotations: BTreeMap::new(), state: AlertState::Firing };
        let alerts = [ActiveAlert { alert, active_at: Some(Time::UNIX_EPOCH) }];
        let (view, environment) = (view(), Environment::default());
        let (counted, now) = (Counted::default(), Time::constant(100, 500_000_000));
        let mut history = History::default();
        let mut with_node = view.clone();
        let object = Object::new(json!({ "metadata": { "name": "a" } }));
        let key = NODES.key("", "a");
        with_node.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        for (view, seconds) in [(&view, 0), (&with_node, 30), (&view, 90)] {
            history.scrape_all(&environment, view, counted, Time::constant(seconds, 0));
        }
        let parameters: Vec<(String, String)> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let state = ServedState {
            view: &view,
            environment: &environment,
            counted,
            history: &history,
            alerts: &alerts,
            now,
        };
        answer(path, Parameters(&parameters), &state)
    }

    #[test]
    fn queries_have_vectors_scalars_and_errors() {
        let (code, body) = ask("/api/v1/query", "cluster_infrastructure_provider").unwrap();
        let metric = json!({ "__name__": "cluster_infrastructure_provider", "type": "AWS" });
        let result = json!([{ "metric": metric, "value": [100.5, "1"] }]);
        assert_eq!((code, &body["data"]), (200, &json!({ "resultType": "vector", "result": result })));
        let (_, body) = ask("/api/v1/query", "time() + 1").unwrap();
        assert_eq!(body["data"], json!({ "resultType": "scalar", "result": [100.5, "101.5"] }));
        let (code, body) = ask("/api/v1/query", "group(\n  a").unwrap();
        assert_eq!((code, &body["errorType"]), (400, &json!("bad_data")));
        assert_eq!(
            body["error"],
            "invalid parameter \"query\": 2:4: parse error: expected \")\", found the end"
        );
        let (code, body) = ask("/api/v1/query", "label_replace(vector(1), '1', '', '', '')").unwrap();
        assert_eq!((code, &body["errorType"]), (422, &json!("execution")));
        let (_, body) = ask("/api/v1/query", "kube_node_info[1m]").unwrap();
        assert_eq!(body["data"]["result"][0]["values"], json!([[60.0, "1"]]));
        assert_eq!(
            ask("/api/v1/query", "'a'").unwrap().1["data"],
            json!({ "resultType": "string", "result": [100.5, "a"] })
        );
        assert_eq!(ask("/api/v1/nodes", ""), None);
    }

    /// The answer to a range query.
    fn range(query: &str, start: &str, end: &str, step: &str) -> (u16, Json) {
        let parameters = [("query", query), ("start", start), ("end", end), ("step", step)];
        ask_with("/api/v1/query_range", &parameters).unwrap()
    }

    #[test]
    fn values_have_an_exponent_only_if_they_are_extreme() {
        let found = [1_779_227_190.5, 1e21, -2.5e-7, f64::NEG_INFINITY, f64::NAN, 0.0].map(number);
        assert_eq!(found, ["1779227190.5", "1e+21", "-2.5e-7", "-Inf", "NaN", "0"]);
    }

    #[test]
    fn a_range_query_has_a_matrix() {
        let (code, body) = range("count(kube_node_info) or vector(0)", "0", "1970-01-01T00:01:40Z", "20");
        let values = json!([[0.0, "0"], [20.0, "0"], [40.0, "1"], [60.0, "1"], [80.0, "1"], [100.0, "0"]]);
        let result = json!([{ "metric": {}, "values": values }]);
        assert_eq!((code, &body["data"]), (200, &json!({ "resultType": "matrix", "result": result })));
        let (_, body) = range("kube_node_info", "90", "100", "5s");
        assert_eq!(body["data"]["result"], json!([]), "a series that a scrape lacks ends at once");
    }

    #[test]
    fn range_queries_are_rejected_like_those_of_prometheus() {
        for (query, start, end, step, expected) in [
            ("up", "", "1", "1", "invalid parameter \"start\": cannot parse \"\" to a valid timestamp"),
            ("up", "2", "1", "1", "invalid parameter \"end\": end timestamp must not be before start time"),
            ("up", "0", "1", "x", "invalid parameter \"step\": cannot parse \"x\" to a valid duration"),
            (
                "up",
                "0",
                "1",
                "0",
                "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer",
            ),
            (
                "up",
                "0",
                "11001",
                "1",
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
            ),
            (
                "up[1m]",
                "0",
                "1",
                "1",
                "invalid parameter \"query\": invalid expression type \"range vector\" for range query, must be Scalar or instant Vector",
            ),
            (
                "up{",
                "0",
                "1",
                "1",
                "invalid parameter \"query\": 1:4: parse error: expected a name, found the end",
            ),
        ] {
            let (code, body) = range(query, start, end, step);
            assert_eq!(
                (code, &body["errorType"], &body["error"]),
                (400, &json!("bad_data"), &json!(expected))
            );
        }
        assert_eq!(range("vector(1)", "0", "11000", "1").0, 200);
    }

    #[test]
    fn series_and_labels_include_the_past() {
        let get =
            |path: &str, parameters: &[(&str, &str)]| ask_with(path, parameters).unwrap().1["data"].clone();
        let node = json!([{ "__name__": "kube_node_info", "node": "a" }]);
        assert_eq!(get("/api/v1/series", &[("match[]", "kube_node_info")]), node);
        assert_eq!(get("/api/v1/series", &[("match[]", "kube_node_info"), ("start", "95")]), json!([]));
        assert_eq!(ask_with("/api/v1/series", &[]).unwrap().1["error"], "no match[] parameter provided");
        assert_eq!(
            get("/api/v1/labels", &[("match[]", "cluster_infrastructure_provider")]),
            json!(["__name__", "type"])
        );
        assert_eq!(
            get("/api/v1/label/type/values", &[("match[]", "cluster_infrastructure_provider")]),
            json!(["AWS"])
        );
        let names = get("/api/v1/label/__name__/values", &[]);
        assert!(names.as_array().unwrap().contains(&json!("kube_node_info")), "{names}");
        assert_eq!(ask_with("/api/v1/label/a-b/values", &[]).unwrap().0, 400);
    }

    #[test]
    fn alerts_and_rules_have_the_states_of_prometheus() {
        let (_, body) = ask("/api/v1/alerts", "").unwrap();
        let alert = &body["data"]["alerts"][0];
        assert_eq!((&alert["state"], &alert["activeAt"]), (&json!("firing"), &json!("1970-01-01T00:00:00Z")));
        let (_, body) = ask("/api/v1/rules", "").unwrap();
        let group = &body["data"]["groups"][0];
        assert_eq!((&group["name"], &group["file"]), (&json!("g"), &json!("n-p.yaml")));
        let rules = group["rules"].as_array().unwrap();
        let shown = |rule: &Json| format!("{} {} {}", rule["name"], rule["state"], rule["duration"]);
        assert_eq!(
            rules.iter().map(shown).collect::<Vec<_>>(),
            ["\"Down\" \"firing\" 600", "\"Slow\" \"inactive\" 0"]
        );
    }
}
