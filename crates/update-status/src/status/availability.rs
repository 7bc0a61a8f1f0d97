//! The reasons why a node cannot run pods, collected like `oc adm upgrade status`.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::text::go_quote::quote;

use super::go_time::{MINUTE, ZERO_TIME, moment, since};
use super::membership::annotation;

/// A reason why a node cannot run pods.
#[derive(Debug)]
pub(super) struct Lack<'a> {
    /// The text in the table.
    pub what: &'static str,
    /// When it started; [`ZERO_TIME`] if unknown.
    pub since: Time,
    /// The message of the condition.
    message: &'a str,
    /// The condition, unless the reason is not a condition.
    condition: Option<&'static Watched>,
}

/// A node condition with its expected status.
#[derive(Debug)]
struct Watched {
    kind: &'static str,
    /// The status of a healthy node.
    well: &'static str,
    /// The text in the table.
    what: &'static str,
    /// The text in the health section.
    sentence: &'static str,
    /// The problem is serious after this time.
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

    /// Returns whether an administrator should look. Cordons and the work of the machine-config daemon are
    /// temporary.
    pub(super) fn is_serious(&self, wall: Time) -> bool {
        self.condition.is_some_and(|condition| since(wall, self.since) >= condition.patience)
    }

    /// Returns the problem of the node with this name, in one line.
    pub(super) fn summary(&self, node: &str) -> String {
        self.condition
            .map_or_else(|| self.what.to_owned(), |condition| format!("Node {node} {}", condition.sentence))
    }

    /// Returns the details of the problem.
    pub(super) fn description(&self) -> String {
        let Some(Watched { kind, well, what, .. }) = self.condition else { return self.what.to_owned() };
        let message = quote(self.message);
        format!("Node has a {kind}!={well} condition with Reason \"{what}\" and message {message}")
    }
}

/// Joins one text for each reason into a line.
pub(super) fn joined<'a>(lacks: &[Lack<'a>], words: impl Fn(&Lack<'a>) -> String) -> String {
    lacks.iter().map(words).collect::<Vec<_>>().join(" | ")
}

/// Returns all reasons why a node of this pool cannot run pods, conditions first, in their order; empty if it
/// can.
pub(super) fn lacks<'a>(node: &'a Object, pool: &Object) -> Vec<Lack<'a>> {
    // `oc` reports no reason if the node's desired image differs from the pool's: a layered pool has an
    // image, any other pool has none.
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

/// Returns whether the daemon has applied the desired configuration and image.
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
