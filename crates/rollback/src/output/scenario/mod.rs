//! A trap as a scenario that fails as long as the trap is there.

mod steps;

use serde_json::{Value, json};
use windtunnel_core::yaml;

use self::steps::{Steps, exists};
use crate::release::Definition;
use crate::report::Report;
use crate::trap::{Harm, Proof, Trap};

/// A scenario as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFile {
    /// The name of the file, such as `lamps.example.com-v1-spec.colour-enum.yaml`.
    pub name: String,
    /// The YAML text.
    pub text: String,
}

/// A trap as a scenario. Under the newer definition it creates the witness; under the older one it repeats what was rejected
/// or looks for the value that was lost. `cluster` is the version of the simulated cluster.
///
/// # Errors
/// The reason why the trap has no scenario.
pub fn scenario(
    report: &Report,
    trap: &Trap,
    (newer, older): (&Definition, &Definition),
    cluster: &str,
) -> Result<ScenarioFile, String> {
    let Proof::Proved(witness) = &trap.proof else { return Err("it has no witness".to_owned()) };
    let mut steps = vec![json!({ "apply": newer.object() })];
    if trap.harm == Harm::Definition {
        steps.push(json!({ "apply": older.object() }));
        steps.push(exists(older.object()));
    } else {
        let (before, after) = Steps::new(trap, witness, newer, older).around_rollback()?;
        steps.extend(before);
        steps.push(json!({ "apply": older.object() }));
        steps.extend(after);
    }
    let name = format!(
        "{} {} of a {} from {} to {}",
        trap.kind,
        super::place(trap),
        report.direction.name(),
        report.source,
        report.target
    );
    let head = json!({
        "name": name,
        "description": format!("Fails as long as {} after it ({}).", trap.harm.text(), trap.detail),
        "cluster": { "version": cluster, "kubernetes": format!("1.{}", report.kubernetes) },
    });
    let text = |value: &Value| yaml::to_string(value).map_err(|error| error.to_string());
    let text = text(&head)? + &text(&json!({ "timeline": steps }))?;
    Ok(ScenarioFile { name: file_name(trap), text })
}

/// A file name of the identity of a trap: letters, digits, dots and hyphens.
fn file_name(trap: &Trap) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    let name: String = trap.id().chars().map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    format!("{}-{}.yaml", parts.join("-"), &trap.fingerprint()[..4])
}
