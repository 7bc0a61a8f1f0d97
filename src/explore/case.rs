//! Cases: scenarios as data that can be written as YAML, changed, and compared.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windtunnel_core::rng::fnv1a;
use windtunnel_core::text::{parse_duration, short_duration};
use windtunnel_core::yaml;

use crate::plan::Plan;
use crate::scenario::{self, Releases, ScenarioErrors};

/// A step of an invented timeline, at a moment since the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Seconds since the start.
    pub at: u64,
    /// The step, as in a scenario.
    pub step: Value,
}

impl Moment {
    /// Creates a step at a number of seconds since the start.
    pub fn new(at: u64, step: Value) -> Self {
        Self { at, step }
    }

    /// The fault that the step injects, if it is one.
    pub fn fault(&self) -> Option<&Map<String, Value>> {
        self.step.get("fault").and_then(Value::as_object)
    }

    /// The moment at which nothing of the step is left, in seconds since the start.
    fn end(&self) -> u64 {
        let fault = self.fault();
        let seconds = |key: &str| {
            let text = fault.and_then(|fault| fault.get(key)).and_then(Value::as_str);
            let span = text.and_then(parse_duration);
            span.and_then(|span| u64::try_from(span.as_secs()).ok()).unwrap_or(0)
        };
        let times = fault.and_then(|fault| fault.get("times")).and_then(Value::as_u64).unwrap_or(0);
        let flips = if fault.is_some_and(|fault| fault.get("is") == Some(&json!("render-flips"))) {
            times
        } else {
            0
        };
        let spans = [seconds("after"), seconds("for"), flips.saturating_mul(120)];
        spans.into_iter().fold(self.at, u64::saturating_add)
    }
}

/// A scenario as data: what runs is exactly what [`Case::to_yaml`] writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The keys of the scenario other than its name and its timeline: `cluster`, `releases` and so on.
    pub environment: Map<String, Value>,
    /// The invented steps, in the order of time.
    pub moments: Vec<Moment>,
    /// The timeline of the user's scenario; empty for an invented one. It runs after the invented steps, which are faults
    /// that begin later.
    pub own_steps: Vec<Value>,
}

impl Case {
    /// The parts that the user wrote.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.environment.values_mut().chain(&mut self.own_steps)
    }

    /// Reads a user's scenario, with an unchanged timeline.
    ///
    /// # Errors
    /// The text is no scenario of one timeline.
    pub fn of_scenario(text: &str) -> Result<Self, String> {
        let (tree, _) = yaml::parse_tree(text).map_err(|error| error.to_string())?;
        let Value::Object(mut environment) = tree.to_json() else {
            return Err("expected a map".to_owned());
        };
        for key in ["name", "description", "ids", "tags", "strict"] {
            environment.remove(key);
        }
        if environment.contains_key("parameters") || environment.contains_key("programs") {
            return Err("scenarios with `parameters` or `programs` cannot be explored".to_owned());
        }
        match environment.remove("timeline") {
            Some(Value::Array(own_steps)) if own_steps.iter().any(|step| !step["run"]["shell"].is_null()) => {
                Err("scenarios with `shell` cannot be explored".to_owned())
            }
            Some(Value::Array(own_steps)) => Ok(Self { environment, moments: Vec::new(), own_steps }),
            _ => Err("expected a list of steps as `timeline`".to_owned()),
        }
    }

    /// The moment at which all invented faults have ended and all steps were made.
    pub fn end(&self) -> SignedDuration {
        let end = self.moments.iter().map(Moment::end).max().unwrap_or(0);
        SignedDuration::from_secs(i64::try_from(end).unwrap_or(i64::MAX))
    }

    /// The number of invented faults.
    pub fn faults(&self) -> usize {
        self.moments.iter().filter(|moment| moment.fault().is_some()).count()
    }

    /// Whether runs of this case are repeated to compare their records. One in sixteen cases is. It depends on the case
    /// alone, so that a run knows whether its record will be compared: the hash costs a tenth of a run.
    pub fn is_repeated(&self) -> bool {
        serde_json::to_vec(self).is_ok_and(|text| fnv1a(&text).is_multiple_of(16))
    }

    /// Sorts the invented steps by time.
    pub fn sort(&mut self) {
        self.moments.sort_by_key(|moment| moment.at);
    }

    /// The timeline as steps of the scenario language, with the steps that let time pass.
    pub fn timeline(&self) -> Vec<Value> {
        if !self.own_steps.is_empty() {
            let faults = self.moments.iter().map(later_fault);
            return faults.chain(self.own_steps.iter().cloned()).collect();
        }
        let (mut steps, mut now) = (Vec::new(), 0);
        for moment in &self.moments {
            if moment.at > now {
                now = moment.at;
                steps.push(json!({ "at": seconds(now) }));
            }
            steps.push(moment.step.clone());
        }
        steps
    }

    /// The scenario as YAML, with further steps at its end.
    pub fn to_yaml(&self, name: &str, last_steps: &[Value]) -> String {
        let mut text = block(&json!({ "name": name }));
        for (key, value) in &self.environment {
            text.push_str(&block(&json!({ key: value })));
        }
        let timeline = self.timeline();
        text.push_str("timeline:\n");
        let steps: Vec<&Value> = timeline.iter().chain(last_steps).collect();
        if steps.is_empty() {
            text.push_str("- advance: 1m\n");
        }
        for step in steps {
            text.push_str(&block(&Value::Array(vec![step.clone()])));
        }
        text
    }

    /// Parses the scenario that [`Case::to_yaml`] writes.
    ///
    /// # Errors
    /// The errors of the scenario, such as a release without facts.
    pub fn plan(&self, releases: &dyn Releases) -> Result<Plan, ScenarioErrors> {
        scenario::parse("explored.yaml", &self.to_yaml("An explored scenario", &[]), releases)
    }
}

/// A duration as text.
pub(super) fn seconds(count: u64) -> String {
    short_duration(SignedDuration::from_secs(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// A fault of a user's scenario, which begins at its moment.
fn later_fault(moment: &Moment) -> Value {
    let mut step = moment.step.clone();
    if let Some(Value::Object(fault)) = step.get_mut("fault")
        && moment.at > 0
    {
        fault.insert("after".to_owned(), json!(seconds(moment.at)));
    }
    step
}

/// A value as block of YAML.
fn block(value: &Value) -> String {
    let tree = yaml::parse_tree(&ordered(value));
    tree.map_or_else(|_| format!("{value}\n"), |(tree, _)| tree.to_text())
}

/// The keys that a reader expects first.
const FIRST: [&str; 21] = [
    "name",
    "version",
    "operator",
    "node",
    "pod",
    "api",
    "process",
    "pool",
    "release",
    "registry",
    "webhook",
    "crd",
    "object",
    "apiVersion",
    "kind",
    "is",
    "write",
    "nth",
    "times",
    "after",
    "type",
];

/// A value as JSON, with the keys of each map in the order in which people write them.
fn ordered(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_by_key(|key| rank(key));
            let entry =
                |key: &&String| format!("{}: {}", Value::from(key.as_str()), ordered(&fields[key.as_str()]));
            format!("{{{}}}", keys.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(ordered).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_openshift::release::Release;

    use super::*;

    #[test]
    fn a_case_is_the_scenario_that_it_writes() {
        let case = Case {
            environment: json!({ "cluster": { "version": "4.18.1" }, "releases": { "4.18.5": null } })
                .as_object()
                .cloned()
                .unwrap(),
            moments: vec![
                Moment::new(0, json!({ "update": { "to": "4.18.5" } })),
                Moment::new(600, json!({ "fault": { "node": "worker-0", "is": "not-ready", "for": "20m" } })),
                Moment::new(600, json!("clear-update")),
            ],
            own_steps: Vec::new(),
        };
        let text = case.to_yaml("case", &[json!({ "expect": { "update": "complete", "within": "3h" } })]);
        assert_eq!(
            text,
            "name: case\ncluster: {version: 4.18.1}\nreleases: {4.18.5: null}\ntimeline:\n- update: {to: 4.18.5}\n- at: 10m\n\
             - fault: {node: worker-0, is: not-ready, for: 20m}\n- clear-update\n\
             - expect: {update: complete, within: 3h}\n"
        );
        assert_eq!(case.plan(&Release::find).unwrap().timeline.len(), 4);
        assert_eq!(case.end(), SignedDuration::from_mins(30));
        let stored = serde_json::to_string(&case).unwrap();
        assert_eq!(serde_json::from_str::<Case>(&stored).unwrap(), case);
        let flips = json!({ "fault": { "is": "render-flips", "times": u64::MAX, "for": "1h" } });
        let endless = Case { moments: vec![Moment::new(u64::MAX, flips)], ..case };
        assert_eq!(endless.end(), SignedDuration::from_secs(i64::MAX));
    }

    #[test]
    fn faults_of_a_scenario_of_the_user_begin_during_its_own_steps() {
        let text = "name: n\ntags: [own]\ncluster: {version: 4.18.1}\ntimeline:\n- advance: 1h\n";
        let mut case = Case::of_scenario(text).unwrap();
        let fault = json!({ "fault": { "process": "cluster-version-operator", "is": "killed" } });
        case.moments.push(Moment::new(90, fault));
        let written = case.to_yaml("n", &[]);
        assert!(written.ends_with(
            "timeline:\n- fault: {process: cluster-version-operator, is: killed, after: 1m30s}\n- advance: 1h\n"
        ));
        assert!(Case::of_scenario("name: n\nparameters: [{a: 1}]\ntimeline: []\n").is_err());
    }
}
