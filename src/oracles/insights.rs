//! The agreement of insights with the objects that they are about.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, DEPLOYMENTS, NODES, UPDATE_STATUSES,
};
use windtunnel_core::{Object, View, condition, text_of, yaml};
use windtunnel_update_status::assessment::cluster_operator::{self, Operator, image_of};
use windtunnel_update_status::assessment::cluster_version;
use windtunnel_update_status::insight::published;
use windtunnel_update_status::status::{
    Details, Inputs, MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE, Moment, nodes, render,
};

use super::rule::{ObjectFinding, Rule, Scene};

/// The rule about insights.
pub(super) struct Insights;

impl Rule for Insights {
    fn id(&self) -> String {
        "insights".to_owned()
    }

    fn quiet(&mut self, scene: &Scene<'_>) -> Vec<ObjectFinding> {
        published_insights(scene.view)
            .values()
            .filter_map(|insight| published::content(insight))
            .filter_map(|(kind, content)| disagreement(kind, content, scene))
            .collect()
    }
}

/// Returns the insights in a cluster, by their uids.
fn published_insights(view: &View) -> BTreeMap<String, Value> {
    let map = view.get(&CONFIG_MAPS, published::NAMESPACE, published::CONFIG_MAP);
    let documents = map.into_iter().flat_map(|map| published::documents(map));
    let documents =
        documents.filter_map(|(uid, text)| Some((uid.to_owned(), yaml::from_str::<Value>(text).ok()?)));
    let status = view.get(&UPDATE_STATUSES, "", published::UPDATE_STATUS);
    let in_status = status.into_iter().flat_map(|status| published::insights_in_status(&status["status"]));
    documents.chain(in_status.map(|(uid, insight)| (uid, insight.clone()))).collect()
}

/// Returns how an insight differs from its object.
fn disagreement(kind: &str, content: &Value, scene: &Scene<'_>) -> Option<ObjectFinding> {
    let name = text_of(&content["resource"], "name");
    let wanted = match kind {
        "ClusterVersion" => of_version(scene)?,
        "ClusterOperator" => of_operator(name, scene)?,
        "Node" => of_node(name, scene.view)?,
        _ => return None,
    };
    let how = wanted.into_iter().find_map(|(what, wanted)| {
        let found = field(content, what)?;
        // An insight has a word for an unknown release.
        (found != wanted && !wanted.is_empty())
            .then(|| format!("{what} is {found}, but {kind} {name} makes it {wanted}"))
    });
    Some(ObjectFinding::new(format!("insight {kind}/{name}"), how?))
}

/// Returns a field of an insight, or the status of a condition with this type.
fn field(content: &Value, what: &str) -> Option<String> {
    if what.starts_with(char::is_uppercase) {
        let list = content["conditions"].as_array()?;
        return condition::find(list, what).map(|found| text_of(found, "status").to_owned());
    }
    let value = what.split('.').try_fold(content, |value, part| value.get(part))?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

type Fields = Vec<(&'static str, String)>;

fn of_version(scene: &Scene<'_>) -> Option<Fields> {
    let version = scene.view.get(&CLUSTER_VERSIONS, "", "version")?;
    let assessed = json!(cluster_version::assess(version, None, scene.at));
    let mut fields =
        vec![("Updating", if cluster_version::is_updating(version) { "True" } else { "False" }.to_owned())];
    for what in ["assessment", "versions.target.version", "versions.previous.version"] {
        fields.extend(field(&assessed, what).map(|value| (what, value)));
    }
    // `oc` reports no update exactly if nothing is updated: neither the control plane nor, afterwards, the workers.
    let inputs = Inputs::gather(|kind| scene.view.list(kind).cloned().collect());
    let report = inputs.and_then(|inputs| render(&inputs, Moment::at(scene.at), Details::None));
    let is_quiet = report.is_ok_and(|report| report.is_quiet());
    if is_quiet {
        fields.push(("Updating", "False".to_owned()));
    }
    Some(fields)
}

fn of_operator(name: &str, scene: &Scene<'_>) -> Option<Fields> {
    let view = scene.view;
    let version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let operator = Operator::read(view.get(&CLUSTER_OPERATORS, "", name)?);
    let image =
        view.get(&DEPLOYMENTS, MCO_NAMESPACE, MACHINE_CONFIG_OPERATOR).and_then(|found| image_of(found));
    let target = cluster_version::target_version(version);
    let insight = cluster_operator::assess(&operator, target, &image.unwrap_or_default(), scene.at);
    let status = |kind: &str| {
        let found = insight.conditions.iter().find(|condition| condition.kind == kind);
        found.map_or_else(String::new, |condition| condition.status.clone())
    };
    Some(vec![("Updating", status("Updating")), ("Healthy", status("Healthy"))])
}

fn of_node(name: &str, view: &View) -> Option<Fields> {
    let node: &Object = view.get(&NODES, "", name)?;
    let assessed = nodes::assess_in_view(node, view)?;
    let state = assessed.state;
    let text = |holds: bool| if holds { "True" } else { "False" }.to_owned();
    let mut fields = vec![
        ("Updating", text(state.is_in_progress())),
        ("Available", text(!state.is_troubled())),
        ("Degraded", text(state.is_degraded)),
    ];
    if !assessed.version.is_empty() {
        fields.push(("version", assessed.version));
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
    use windtunnel_openshift::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, STATE};

    use super::*;
    use crate::oracles::testing::Story;

    fn story(insight: &str) -> Story {
        let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status });
        let version = json!({
            "metadata": { "name": "version" },
            "status": {
                "history": [{ "state": "Completed", "version": "4.18.3", "startedTime": "2024-01-15T08:00:00Z", "completionTime": "2024-01-15T09:00:00Z" }],
                "conditions": [condition("Progressing", "False"), condition("Available", "True")],
            },
        });
        let operator = json!({
            "metadata": { "name": "dns" },
            "status": {
                "versions": [{ "name": "operator", "version": "4.18.3" }],
                "conditions": [condition("Available", "True"), condition("Degraded", "False"), condition("Progressing", "False")],
            },
        });
        let pool = json!({
            "metadata": { "name": "worker" },
            "spec": { "nodeSelector": { "matchLabels": { "role": "worker" } }, "configuration": { "name": "a" } },
            "status": { "conditions": [condition("Updated", "True")] },
        });
        let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
        let node = json!({
            "metadata": { "name": "w0", "labels": { "role": "worker" }, "annotations": annotations },
            "status": { "conditions": [condition("Ready", "True")] },
        });
        let map = json!({
            "metadata": { "namespace": published::NAMESPACE, "name": published::CONFIG_MAP },
            "data": { "usc.cpi.one": insight },
        });
        Story::new()
            .write(1, "a", &CLUSTER_VERSIONS, version)
            .write(1, "a", &CLUSTER_OPERATORS, operator)
            .write(1, "a", &MACHINE_CONFIG_POOLS, pool)
            .write(1, "a", &NODES, node)
            .write(1, "a", &CONFIG_MAPS, map)
    }

    /// The insight on an object, with the status of a condition.
    fn insight(kind: &str, name: &str, condition: &str, status: &str) -> String {
        let content =
            json!({ "resource": { "name": name }, "conditions": [{ "type": condition, "status": status }] });
        json!({ "uid": "one", "type": kind, (published::member(kind)): content }).to_string()
    }

    #[test]
    fn an_insight_that_is_outdated_is_reported() {
        for (kind, name, condition, right, wrong) in [
            ("ClusterVersion", "version", "Updating", "False", "True"),
            ("ClusterOperator", "dns", "Healthy", "True", "False"),
            ("Node", "w0", "Degraded", "False", "True"),
        ] {
            let found = |status| story(&insight(kind, name, condition, status)).findings("insights");
            assert_eq!(found(right), Vec::<String>::new());
            let expected =
                format!("insight {kind}/{name}: {condition} is {wrong}, but {kind} {name} makes it {right}");
            assert_eq!(found(wrong), [expected]);
        }
    }
}
