//! When: actions of an administrator, and the passing of time.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Propagation, Resource};
use windtunnel_openshift::mco;
use windtunnel_update_status::status::Details;

use super::definition::{Definition, when};
use super::given::known;
use crate::plan::{
    Action, Attempt, CommandCheck, CommandLine, Expectation, ExpectedState, ExpectedTime, FEATURE_SETS, Keep,
    Run, StatusMatch, Step, Target, TextMatch, ValueSource, pod_prefix,
};
use crate::steps::phrase::{self, duration, object, one_object};

/// The time limit for a share of the operators.
const REACHES: SignedDuration = SignedDuration::from_hours(3);

pub(in crate::steps) const STEPS: &[Definition] = &[
    when(
        r#"{at}I run "(.+)""#,
        "Runs an `oc` command as an administrator. Environment variables may precede it, as in a shell, \
         and `$(image 4.14.8)` is the image of a release. The command must succeed, unless the steps that \
         follow expect a rejection.",
        &[r#"I run "oc adm upgrade --to-latest""#],
        |world, call| {
            let [line] = call.values();
            let command = world.command_line(&line)?;
            let checks = if world.is_refused_next() { Vec::new() } else { vec![CommandCheck::Code(0)] };
            Ok(Step::Run(Run { command, checks }))
        },
    ),
    when(
        r"{at}I run this shell script:",
        "Runs a script with `sh -c` on this machine, while no cluster time passes: `KUBECONFIG` is an \
         administrator's. It must exit with 0, unless the steps that follow expect a rejection; needs `--allow-programs`.",
        &["I run this shell script:"],
        |world, call| {
            let command = CommandLine::of_script(call.script()?);
            let checks = if world.is_refused_next() { Vec::new() } else { vec![CommandCheck::Code(0)] };
            Ok(Step::Run(Run { command, checks }))
        },
    ),
    when(
        r"{at}I update to (\d+\.\d+\.\S+)( by force)?",
        "Requests an update to a release, without the checks of the client (`by force`: also without \
         those of the operator).",
        &["I update to 4.14.8"],
        |_, call| {
            let [version, force] = call.values();
            let to = Target::Version(phrase::version(&version)?);
            Ok(Step::Act(Action::Update { to, force: !force.is_empty() }))
        },
    ),
    when(
        r#"{at}I update to image "([^"]+)"( by force)?"#,
        "Requests an update to an image, without the checks of the client (`by force`: also without those \
         of the operator).",
        &[r#"I update to image "quay.io/openshift-release-dev/ocp-release@sha256:0" by force"#],
        |_, call| {
            let [image, force] = call.values();
            Ok(Step::Act(Action::Update { to: Target::Image(image), force: !force.is_empty() }))
        },
    ),
    when(
        r"{at}I roll back",
        "Requests the previous release, as `oc adm upgrade rollback` does.",
        &["I roll back"],
        |world, _| {
            let command =
                world.command_line("OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback")?;
            let checks = vec![CommandCheck::Code(0)];
            Ok(Step::Run(Run { command, checks }))
        },
    ),
    when(
        r"{at}the update reaches (\d+)% of operators",
        "Lets time pass until this share of operators is updated, by the `Completion` of `oc adm upgrade \
         status`; at most 3 hours.",
        &["the update reaches 45% of operators"],
        |_, call| {
            let [percent] = call.values();
            let least = percent.parse::<u32>().ok().filter(|least| *least <= 100);
            let least = least.ok_or_else(|| format!("expected up to 100%, found {percent}%"))?;
            let enough: Vec<String> = (least..=100).map(|percent| percent.to_string()).collect();
            let pattern = format!("/Completion: +({})% /", enough.join("|"));
            let has = vec![TextMatch::parse(&pattern)?];
            let what = ExpectedState::Status(StatusMatch { details: Details::None, has, snapshot: None });
            Ok(Step::Expect(Expectation { what, when: ExpectedTime::Within(REACHES) }))
        },
    ),
    when(
        r"{at}I clear the update request",
        "Withdraws the update request.",
        &["I clear the update request"],
        |_, _| Ok(Step::Act(Action::ClearUpdate)),
    ),
    when(
        r"{at}I ask for published insights",
        "Creates the ConfigMap that makes the update status controller publish insights.",
        &["I ask for published insights"],
        |_, _| Ok(Step::Act(Action::PublishInsights)),
    ),
    when(
        r#"{at}I switch( quickly)? to the feature set "([^"]+)""#,
        "Switches the cluster to another feature set. All nodes reboot for it, which takes about 13 \
         minutes. After a quick switch they do not: their kubelets get the gates with the next release.",
        &[
            r#"I switch to the feature set "DevPreviewNoUpgrade""#,
            r#"I switch quickly to the feature set "DevPreviewNoUpgrade""#,
        ],
        |_, call| {
            let [quickly, name] = call.values();
            known(&name, FEATURE_SETS.iter().copied(), "feature set")?;
            let object = mco::feature_set_switch(&name, !quickly.is_empty());
            Ok(Step::Act(Action::Apply(object)))
        },
    ),
    when(
        r"{at}I apply this object:",
        "Creates or changes an object, as YAML in the doc string.",
        &["I apply this object:"],
        |world, call| Ok(Step::Act(Action::Apply(call.object(&mut world.kinds)?))),
    ),
    when(
        r"{at}I try to apply this object:",
        "Tries to create or change an object, as YAML in the doc string, and requires that the API server \
         rejects it. The steps that follow can check the message.",
        &["I try to apply this object:"],
        |world, call| {
            let action = Action::Apply(call.object(&mut world.kinds)?);
            Ok(Step::Try(Attempt { action, refused: Vec::new() }))
        },
    ),
    when(
        r"{at}I delete (\S+/\S+?)(?: with cascade (background|foreground|orphan))?",
        "Deletes an object and its dependents (`with cascade foreground`: dependents first; `with cascade \
         orphan`: dependents stay).",
        &[
            "I delete ConfigMap/openshift-config/admin-acks",
            "I delete Deployment/default/web with cascade foreground",
        ],
        |world, call| {
            let [name, cascade] = call.values();
            let object = one_object(&world.kinds, &name)?;
            Ok(Step::Act(Action::Delete { object, cascade: Propagation::named(&cascade) }))
        },
    ),
    when(
        r"{at}I try to delete (\S+/\S+)",
        "Tries to delete an object, and requires that the API server rejects it. The steps that follow \
         can check the message.",
        &["I try to delete ClusterVersion/version"],
        |world, call| {
            let [name] = call.values();
            let action = Action::Delete { object: one_object(&world.kinds, &name)?, cascade: None };
            Ok(Step::Try(Attempt { action, refused: Vec::new() }))
        },
    ),
    when(
        r"{at}I (pause|unpause) pool (\S+)",
        "Pauses or unpauses a MachineConfigPool.",
        &["I pause pool worker"],
        |_, call| {
            let [how, pool] = call.values();
            let spec = json!({ "paused": how == "pause" });
            Ok(Step::Act(Action::Apply(spec_of(&MACHINE_CONFIG_POOLS, &pool, &spec))))
        },
    ),
    when(
        r"{at}I let (\d+%?) of the nodes of pool (\S+) be unavailable",
        "Sets `maxUnavailable` of a MachineConfigPool to a number or a percentage.",
        &["I let 2 of the nodes of pool worker be unavailable"],
        |_, call| {
            let [number, pool] = call.values();
            let number = number.parse::<u32>().map_or_else(|_| json!(number), |number| json!(number));
            let spec = json!({ "maxUnavailable": number });
            Ok(Step::Act(Action::Apply(spec_of(&MACHINE_CONFIG_POOLS, &pool, &spec))))
        },
    ),
    when(
        r"{at}I (cordon|uncordon) node (\S+)",
        "Cordons or uncordons a node.",
        &["I cordon node worker-0"],
        |_, call| {
            let [how, node] = call.values();
            let spec = json!({ "unschedulable": how == "cordon" });
            Ok(Step::Act(Action::Apply(spec_of(&NODES, &node, &spec))))
        },
    ),
    when(
        r#"{at}machine (\S+) joins(?: with "([^"]*)")?"#,
        "Adds a machine, which becomes a worker node of this name after its start, optionally with labels.",
        &["machine worker-3 joins", r#"machine worker-3 joins with "topology.kubernetes.io/zone=a""#],
        |_, call| {
            let [node, labels] = call.values();
            let labels = phrase::labels(&labels)?;
            Ok(Step::Act(Action::Join { node, labels }))
        },
    ),
    when(
        r#"{at}pod "([^"]+)"(?: container "([^"]+)")? prints(?: "([^"]+)"|:)"#,
        "Prints a line, or the lines of a text, to the log of each pod of this name, as its program would. \
         A prefix of the name is enough. Without a container the first one is meant.",
        &[
            r#"pod "openshift-dns/dns-default" prints "plugin/errors: 2 SERVFAIL""#,
            r#"pod "openshift-etcd/etcd-master-0" container "etcd" prints:"#,
        ],
        |_, call| {
            let [pod, container, line] = call.values();
            let (namespace, pod) = pod_prefix(&pod)?;
            let text = if line.is_empty() { call.docstring()? } else { &line };
            let lines = text.lines().map(str::to_owned).collect();
            let container = Some(container).filter(|name| !name.is_empty());
            Ok(Step::Act(Action::Log { namespace, pod, container, lines }))
        },
    ),
    when(
        r#"{at}I keep (?:{object} field "([^"]+)"|what it printed) as "([^"\s]+)""#,
        "Keeps a field of an object, or the output of the last command. Later steps refer to it as \
         `$(kept <name>)`, in commands and in texts that are compared.",
        &[
            r#"I keep ClusterVersion field "status.desired.image" as "image""#,
            r#"I keep what it printed as "before""#,
        ],
        |world, call| {
            let [object_name, path, name] = call.values();
            let what = if object_name.is_empty() {
                ValueSource::Output
            } else {
                ValueSource::Field(object(&world.kinds, &object_name)?, path)
            };
            Ok(Step::Keep(Keep { name, what }))
        },
    ),
    when(
        r#"{at}I keep the cluster as "([^"\s]+)""#,
        "Keeps the state of the cluster, to compare it with later.",
        &[r#"I keep the cluster as "before""#],
        |_, call| {
            let [name] = call.values();
            Ok(Step::KeepCluster(name))
        },
    ),
    when(
        r"{at}(\d+ (?:second|minute|hour|day)s?) pass(?:es)?",
        "Lets virtual time pass.",
        &["40 minutes pass"],
        |_, call| {
            let [span] = call.values();
            Ok(Step::Advance(duration(&span)?))
        },
    ),
];

fn spec_of(resource: &Resource, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": { "name": name },
        "spec": spec,
    })
}
