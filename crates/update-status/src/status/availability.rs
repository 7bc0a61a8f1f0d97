//! Why pods cannot run on a node, as `oc adm upgrade status` collects it.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::text::go_quote::quote;

use super::go_time::{MINUTE, ZERO_TIME, moment, since};
use super::membership::annotation;

/// One thing that keeps pods off a node.
#[derive(Debug)]
pub(super) struct Lack<'a> {
    /// In the words of the table.
    pub what: &'static str,
    /// Since when; [`ZERO_TIME`] where that is not known.
    pub since: Time,
    /// What its condition says.
    message: &'a str,
    /// Its condition, if it is from one.
    condition: Option<&'static Watched>,
}

/// A condition of nodes that must have one status.
#[derive(Debug)]
struct Watched {
    kind: &'static str,
    /// The status with which all is well.
    well: &'static str,
    /// In the words of the table.
    what: &'static str,
    /// In those of health.
    sentence: &'static str,
    /// It is serious from then on.
    patience: SignedDuration,
}

const WATCHED: &[Watched] = &[
    Watched {
        kind: "Ready",
        well: "True",
        what: "Not ready",
        sentence: "is not ready",
        patience: SignedDuration::from_mins(5),
    },
    Watched {
        kind: "DiskPressure",
        well: "False",
        what: "Disk pressure",
        sentence: "has disk pressure",
        patience: MINUTE,
    },
    Watched {
        kind: "NetworkUnavailable",
        well: "False",
        what: "Network unavailable",
        sentence: "has unavailable network",
        patience: MINUTE,
    },
];

impl Lack<'_> {
    fn plain(what: &'static str) -> Self {
        Self { what, since: ZERO_TIME, message: "", condition: None }
    }

    /// Whether an administrator should look. Cordons and what the daemon does pass by themselves.
    pub(super) fn is_serious(&self, wall: Time) -> bool {
        self.condition.is_some_and(|condition| since(wall, self.since) >= condition.patience)
    }

    /// What is wrong with the node of this name.
    pub(super) fn summary(&self, node: &str) -> String {
        self.condition
            .map_or_else(|| self.what.to_owned(), |condition| format!("Node {node} {}", condition.sentence))
    }

    /// What tells of it.
    pub(super) fn description(&self) -> String {
        let Some(Watched { kind, well, what, .. }) = self.condition else { return self.what.to_owned() };
        let message = quote(self.message);
        format!("Node has a {kind}!={well} condition with Reason \"{what}\" and message {message}")
    }
}

/// Words on each of several lacks, in a line.
pub(super) fn joined<'a>(lacks: &[Lack<'a>], words: impl Fn(&Lack<'a>) -> String) -> String {
    lacks.iter().map(words).collect::<Vec<_>>().join(" | ")
}

/// All that keeps pods off a node of this pool, conditions first, in their order; nothing where pods can run.
pub(super) fn lacks<'a>(node: &'a Object, pool: &Object) -> Vec<Lack<'a>> {
    // A layered pool has an image for all of its nodes; in any other pool, an image of its own hides everything else.
    let image = annotation(node, "desiredImage");
    let hides = match layered_image(pool) {
        Some(newest) => image != newest,
        None => !image.is_empty(),
    };
    if hides {
        return Vec::new();
    }
    let mut lacks: Vec<Lack<'_>> = node.list("/status/conditions").iter().filter_map(of_condition).collect();
    if node["spec"]["unschedulable"] == true {
        lacks.push(Lack::plain("Node is marked unschedulable"));
    }
    let gave_up = matches!(annotation(node, "state"), "Degraded" | "Unreconcilable");
    if lacks.is_empty() && !is_done(node) && !gave_up {
        lacks.push(Lack::plain("Machine Config Daemon is processing the node"));
    }
    lacks
}

fn of_condition(found: &Value) -> Option<Lack<'_>> {
    let text = |field: &str| found[field].as_str().unwrap_or_default();
    let condition = WATCHED.iter().find(|condition| condition.kind == text("type"))?;
    (text("status") != condition.well).then(|| Lack {
        what: condition.what,
        since: moment(found, "lastTransitionTime"),
        message: text("message"),
        condition: Some(condition),
    })
}

fn layered_image(pool: &Object) -> Option<&str> {
    pool.label("machineconfiguration.openshift.io/layering-enabled")?;
    Some(annotation(pool, "newestImageEquivalentConfig")).filter(|image| !image.is_empty())
}

/// Whether the daemon is through with all that is desired.
fn is_done(node: &Object) -> bool {
    let [current, desired] = ["currentConfig", "desiredConfig"].map(|name| annotation(node, name));
    let images = ["currentImage", "desiredImage"]
        .map(|name| node.annotation(&format!("machineconfiguration.openshift.io/{name}")));
    let same_image = match images {
        [None, None] => true,
        [Some(one), Some(other)] => !one.is_empty() && one == other,
        _ => false,
    };
    !current.is_empty() && current == desired && same_image && annotation(node, "state") == "Done"
}
