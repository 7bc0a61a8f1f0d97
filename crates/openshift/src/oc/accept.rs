//! `oc adm upgrade accept`: accepts risks of conditional updates.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::Object;

use super::cluster_version::accepted_risks;
use super::outcome::{CommandOutput, CommandStep, Patch, Success};

/// The command name, for references to its help.
pub(super) const NAME: &str = "oc adm upgrade accept";

/// A change of the accepted risks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Whether to drop all accepted risks first: `--clear` or `--replace`.
    pub(super) drops_existing: bool,
    /// Names of risks to accept.
    pub(super) add: BTreeSet<String>,
    /// Names of risks to remove.
    pub(super) remove: BTreeSet<String>,
}

impl Change {
    /// Parses `RiskA,RiskB-`.
    ///
    /// # Errors
    /// The client's error message.
    pub(super) fn parse(clear: bool, replace: bool, words: &[String]) -> Result<Self, String> {
        if clear && replace {
            return Err("--clear and --replace are mutually exclusive".to_owned());
        }
        let mut change = Self { drops_existing: clear || replace, ..Self::default() };
        let list = match words {
            [] if clear => return Ok(change),
            [] => return Err("no positional arguments given".to_owned()),
            [_] if clear => return Err(format!("unknown command {:?}", words.join(" "))),
            [list] => list,
            _ => return Err("multiple positional arguments given".to_owned()),
        };
        for name in list.split(',').map(str::trim) {
            match name.strip_suffix('-') {
                Some("") => return Err(format!("illegal risk {name:?}")),
                Some(removed) => change.remove.insert(removed.to_owned()),
                None if name.is_empty() => return Err(format!("illegal risk {name:?}")),
                None => change.add.insert(name.to_owned()),
            };
        }
        let both: Vec<&str> = change.add.intersection(&change.remove).map(String::as_str).collect();
        if !both.is_empty() {
            return Err(format!("requested risks with both Risk and Risk-: {}", both.join(",")));
        }
        if replace && !change.remove.is_empty() {
            return Err("The suffix '-' on risks is not allowed if --replace is specified".to_owned());
        }
        Ok(change)
    }

    /// Returns the risks after the change: remaining ones in their order, then new ones.
    fn apply(&self, accepted: &[Value]) -> Vec<Value> {
        let name = |risk: &Value| risk["name"].as_str().unwrap_or_default().to_owned();
        let remaining =
            accepted.iter().filter(|risk| !self.drops_existing && !self.remove.contains(&name(risk)));
        let mut risks: Vec<Value> = remaining.cloned().collect();
        let names: BTreeSet<String> = risks.iter().map(name).collect();
        risks.extend(self.add.difference(&names).map(|name| json!({ "name": name })));
        risks
    }
}

/// Patches the accepted risks, if they change.
pub(super) fn accept(change: &Change, cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    let accepted = accepted_risks(cluster_version).and_then(Value::as_array);
    let risks = change.apply(accepted.map(Vec::as_slice).unwrap_or_default());
    if accepted.map_or(risks.is_empty(), |accepted| *accepted == risks) {
        output.print("info: Accept risks are not changed");
        return CommandStep::Done(output);
    }
    let names: Vec<&str> = risks.iter().filter_map(|risk| risk["name"].as_str()).collect();
    let line = format!("info: Accept risks are [{}]", names.join(", "));
    let risks = if risks.is_empty() { Value::Null } else { Value::Array(risks) };
    CommandStep::Patch(Patch {
        body: format!("{{\"spec\": {{\"desiredUpdate\": {{\"acceptRisks\": {risks}}}}}}}"),
        output,
        success: Success::Line(line),
        unable: "unable to accept risks",
    })
}
