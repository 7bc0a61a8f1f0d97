//! Then: the state of objects now, within a time, or throughout a time.

use windtunnel_core::alert::AlertState;

use super::definition::{Definition, then};
use crate::plan::{AlertMatch, Check, ExpectedState, LogMatch, TextMatch};
use crate::steps::phrase::{condition, field, object, phase_named};
use crate::steps::world::ClusterWorld;

const CONDITION: &str = "within 10 minutes ClusterVersion condition Progressing is True with reason \"X\" \
     and message matching /Y/";

const LOG: &str = "within 5 minutes the log of pod \"openshift-cluster-version/cluster-version-operator\" \
     contains \"leader lease\"";

pub(in crate::steps) const STEPS: &[Definition] = &[
    then(
        r"{timing}{object} condition (\w+) is (True|False|Unknown)(?: with (.+))?",
        "A condition of an object.",
        &[CONDITION],
        |world, call| {
            let [name, kind, status, with] = call.values();
            state(world, &name, condition(&kind, &status, &with)?)
        },
    ),
    then(
        r"{within}the update is complete",
        "The requested release, if any, is `Completed`, and no update is in progress.",
        &["within 3 hours the update is complete"],
        |world, _| state(world, "ClusterVersion", Check::Updated),
    ),
    then(
        r#"{within}the (previous )?log of pod "([^"]+)"(?: container "([^"]+)")? contains (".+"|/.+/)"#,
        "A simulated program has printed a line with this text, or a line that matches a pattern. A \
         prefix of the pod's name is enough.",
        &[LOG],
        |_, call| {
            let [previous, pod, container, text] = call.values();
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&text);
            let wanted = LogMatch::parse(&pod, text)?;
            let container = Some(container).filter(|name| !name.is_empty());
            let wanted = LogMatch { container, previous: !previous.is_empty(), ..wanted };
            Ok(ExpectedState::Log(wanted))
        },
    ),
    then(
        r"{timing}{object} has no condition (\w+)",
        "An object has no condition of this type.",
        &["within 10 minutes ClusterVersion has no condition Upgradeable"],
        |world, call| {
            let [name, kind] = call.values();
            state(world, &name, Check::NoCondition(kind))
        },
    ),
    then(
        r#"{timing}{object} field "([^"]+)" is {text}"#,
        "A field of an object, by its path.",
        &[r#"within 10 minutes ClusterVersion field "status.history[0].state" is "Completed""#],
        |world, call| {
            let [name, path, value] = call.values();
            state(world, &name, field(path, &value)?)
        },
    ),
    then(
        r#"(?<timing>throughout \d+ \w+ ){object} field "([^"]+)" does not change"#,
        "A field of an object keeps its value over a time.",
        &[r#"throughout 30 minutes ClusterVersion field "status" does not change"#],
        |world, call| {
            let [name, path] = call.values();
            state(world, &name, Check::Unchanged { path })
        },
    ),
    then(
        r"{timing}([A-Z]\w+/\S+) (exists|does not exist)",
        "An object exists or does not exist; its name may end in `*`.",
        &["Pod/openshift-cluster-version/version-* does not exist"],
        |world, call| {
            let [name, exists] = call.values();
            let object = object(&world.kinds, &name)?;
            Ok(match &*exists {
                "exists" => ExpectedState::Object(object, Vec::new()),
                _ => ExpectedState::Absent(object),
            })
        },
    ),
    then(
        r#"{timing}(Pod/\S+/\S+) has status "([^"]+)""#,
        "The STATUS that `oc get pods` prints for a pod.",
        &[r#"within 2 minutes Pod/openshift-cluster-version/version-* has status "Init:ErrImagePull""#],
        |world, call| {
            let [name, status] = call.values();
            state(world, &name, Check::PodStatus(TextMatch::Equals(status)))
        },
    ),
    then(
        r#"{timing}(?:the )?alert "(\w+)"(?: about "([^"]+)")? is( not)? (pending|firing)"#,
        "The state of a Prometheus alert, optionally with the value of its label `name`.",
        &[r#"within 15 minutes alert "ClusterOperatorDown" about "etcd" is not firing"#],
        |_, call| {
            let [name, about, not, state] = call.values();
            let wanted = alert_match(name, about, &state);
            Ok(if not.is_empty() { ExpectedState::Alert(wanted) } else { ExpectedState::NoAlert(wanted) })
        },
    ),
    then(
        r#"{timing}(?:the )?alert "(\w+)"(?: about "([^"]+)")? (fires|does not fire)"#,
        "A Prometheus alert is firing, or is not, optionally with the value of its label `name`.",
        &[
            r#"within 15 minutes the alert "ClusterOperatorDown" about "etcd" fires"#,
            r#"alert "ClusterOperatorDown" does not fire"#,
        ],
        |_, call| {
            let [name, about, fires] = call.values();
            let wanted = alert_match(name, about, "firing");
            Ok(if fires == "fires" { ExpectedState::Alert(wanted) } else { ExpectedState::NoAlert(wanted) })
        },
    ),
    then(
        r#"{timing}{object} annotation "([^"]+)" is {text}"#,
        "An annotation of an object.",
        &[r#"Node/worker-0 annotation "machineconfiguration.openshift.io/state" is "Done""#],
        |world, call| {
            let [name, key, value] = call.values();
            let path = format!("metadata.annotations[\"{key}\"]");
            state(world, &name, field(path, &value)?)
        },
    ),
    then(
        r"{timing}node (\S+) is (Draining|Updating|Rebooting|Paused|Pending|Updated)",
        "The update phase of a node, in the terms of `oc adm upgrade status`.",
        &["within 2 hours node worker-0 is Draining"],
        |_, call| {
            let [node, phase] = call.values();
            Ok(ExpectedState::Phase { node, phase: phase_named(&phase)? })
        },
    ),
];

/// Returns the state of the objects with a name.
fn state(world: &ClusterWorld, name: &str, check: Check) -> Result<ExpectedState, String> {
    Ok(ExpectedState::Object(object(&world.kinds, name)?, vec![check]))
}

/// Returns a pattern for an alert in a state; a non-empty `about` is the value of its label `name`.
pub(in crate::steps) fn alert_match(name: String, about: String, state: &str) -> AlertMatch {
    let labels =
        if about.is_empty() { Vec::new() } else { vec![("name".to_owned(), TextMatch::Equals(about))] };
    AlertMatch { name, state: AlertState::named(state), labels, annotations: Vec::new() }
}
