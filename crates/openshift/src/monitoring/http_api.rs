//! The HTTP API of Prometheus, as Thanos answers it behind its Route: queries, alerts and rules.

use serde_json::{Value as Json, json};
use windtunnel_core::View;
use windtunnel_core::alert::{ActiveAlert, NAME as ALERT_NAME};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::PROMETHEUS_RULES;
use windtunnel_core::text::{go_float, parse_units};

use super::Counted;
use super::metrics::Moment;
use crate::environment::Environment;
use crate::promql::{self, Sample, Value};

/// The paths that are served.
pub const PATHS: [&str; 3] = ["/api/v1/query", "/api/v1/alerts", "/api/v1/rules"];

/// The state of the cluster and of its Prometheus.
#[derive(Debug)]
pub struct ServedState<'a> {
    /// The objects.
    pub view: &'a View,
    /// Samples that are defined by the user.
    pub environment: &'a Environment,
    /// The counters of components.
    pub counted: Counted<'a>,
    /// Pending and firing alerts.
    pub alerts: &'a [ActiveAlert],
    /// The time of the cluster. Queries are evaluated at it, whatever time the client asks for.
    pub now: Time,
}

/// Returns HTTP status and JSON body of the answer for one of [`PATHS`]; `None` for another path. `query` is
/// the parameter of this name.
pub fn answer(path: &str, query: &str, state: &ServedState<'_>) -> Option<(u16, Json)> {
    Some(match path {
        "/api/v1/query" => evaluate(query, state),
        "/api/v1/alerts" => success(&json!({ "alerts": alerts(state.alerts) })),
        "/api/v1/rules" => success(&json!({ "groups": groups(state) })),
        _ => return None,
    })
}

fn success(data: &Json) -> (u16, Json) {
    (200, json!({ "status": "success", "data": data }))
}

fn failure(code: u16, kind: &str, error: &str) -> (u16, Json) {
    (code, json!({ "status": "error", "errorType": kind, "error": error }))
}

fn evaluate(query: &str, state: &ServedState<'_>) -> (u16, Json) {
    let expr = match promql::parse(query) {
        Ok(expr) => expr,
        Err(error) => {
            let (line, column) = error.position(query);
            let error = format!("invalid parameter \"query\": {line}:{column}: parse error: {error}");
            return failure(400, "bad_data", &error);
        }
    };
    let moment = Moment::scraped(state.view, state.now, state.counted);
    let value = promql::evaluate(&expr, &Moment { given: &state.environment.metrics, ..moment });
    let at = state.now.as_millisecond();
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are far below 2^52")]
    let at = at as f64 / 1000.0;
    let point = |value: f64| json!([at, go_float::format_g(value)]);
    match value {
        Ok(Value::Scalar(number)) => success(&json!({ "resultType": "scalar", "result": point(number) })),
        Ok(Value::Vector(samples)) => {
            let of = |sample: &Sample| json!({ "metric": sample.labels, "value": point(sample.value) });
            let result: Vec<Json> = samples.iter().map(of).collect();
            success(&json!({ "resultType": "vector", "result": result }))
        }
        Err(error) => failure(422, "execution", &error),
    }
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
    use windtunnel_core::resources::INFRASTRUCTURES;
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
        let labels = [("alertname", "Down"), ("severity", "critical")];
        let labels: BTreeMap<_, _> = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let alert = Alert { labels, annotations: BTreeMap::new(), state: AlertState::Firing };
        let alerts = [ActiveAlert { alert, active_at: Some(Time::UNIX_EPOCH) }];
        let (view, environment) = (view(), Environment::default());
        let (counted, now) = (Counted::default(), Time::constant(100, 500_000_000));
        answer(
            path,
            query,
            &ServedState { view: &view, environment: &environment, counted, alerts: &alerts, now },
        )
    }

    #[test]
    fn queries_have_vectors_scalars_and_errors() {
        let (code, body) = ask("/api/v1/query", "cluster_infrastructure_provider").unwrap();
        let metric = json!({ "__name__": "cluster_infrastructure_provider", "type": "AWS" });
        let result = json!([{ "metric": metric, "value": [100.5, "1"] }]);
        assert_eq!((code, &body["data"]), (200, &json!({ "resultType": "vector", "result": result })));
        let (_, body) = ask("/api/v1/query", "time() + 1").unwrap();
        assert_eq!(body["data"], json!({ "resultType": "scalar", "result": [100.5, "101"] }));
        let (code, body) = ask("/api/v1/query", "group(\n  a").unwrap();
        assert_eq!((code, &body["errorType"]), (400, &json!("bad_data")));
        assert_eq!(
            body["error"],
            "invalid parameter \"query\": 2:4: parse error: expected \")\", found the end"
        );
        let (code, body) = ask("/api/v1/query", "1 > 2").unwrap();
        assert_eq!((code, &body["errorType"]), (422, &json!("execution")));
        assert_eq!(ask("/api/v1/labels", ""), None);
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
