//! Decides whether the operator accepts a retrieved payload. The payload must be the requested release and
//! pass the preconditions.

use windtunnel_controllers::registry::Contents;
use windtunnel_core::{Object, View};

use super::load::LoadResult;
use super::preconditions::{self, Verdict};
use super::version_pod::payload_path;
use super::{OperatorContext, RetrievalError, Retrieved};
use crate::cvo::desired::Target;
use crate::cvo::events::Notice;
use crate::cvo::sync::apply::Work;
use crate::cvo::updates;
use crate::release::Release;

/// Returns the work for an accepted payload, or the reason for the rejection. Events are added to `notices`.
pub(in crate::cvo) fn accept(
    target: &Target,
    outcome: Result<Retrieved, RetrievalError>,
    site: &OperatorContext,
    view: &View,
    cluster_version: &Object,
    notices: &mut Vec<Notice>,
) -> Result<Work, LoadResult> {
    let Loaded { release, verified, risk } = load(target, outcome, site, notices)?;
    let loaded = format!("payload loaded version=\"{}\" image=\"{}\"", release.version, target.image);
    let mut risks = vec![risk];
    match preconditions::check(site.behaviour, view, cluster_version, &release, target.force) {
        Verdict::Passed => {}
        Verdict::PassedWithRisk(risk) => {
            let message = format!("precondition warning for {loaded}: {risk}");
            notices.push(Notice::warning("PreconditionWarn", message));
            risks.push(risk);
        }
        Verdict::Blocked(summary) => return Err(LoadResult::blocked(&release, &summary)),
    }
    notices.push(Notice::normal("PreconditionsPassed", format!("preconditions passed for {loaded}")));
    risks.retain(|risk| !risk.is_empty());
    let risks = updates::accepted_risks_text(cluster_version, &target.image, risks.join("\n"));
    Ok(Work {
        release,
        generation: target.generation,
        force: target.force,
        verified,
        accepted_risks: Some(risks),
    })
}

/// A loaded payload whose preconditions have not been checked.
#[derive(Debug)]
pub(in crate::cvo) struct Loaded {
    pub(in crate::cvo) release: Release,
    /// Whether the signature is valid.
    verified: bool,
    /// The verification error that `force` overrode, or empty.
    risk: String,
}

/// Loads a retrieved payload. Events are added to `notices`.
///
/// # Errors
/// The payload could not be retrieved or loaded, or it has another version.
pub(in crate::cvo) fn load(
    target: &Target,
    outcome: Result<Retrieved, RetrievalError>,
    site: &OperatorContext,
    notices: &mut Vec<Notice>,
) -> Result<Loaded, LoadResult> {
    let retrieved = outcome.map_err(|error| {
        let load = LoadResult::not_retrieved(target, &error.text);
        let text = load.condition().map_or_else(String::new, |condition| condition.message);
        let chain = with_causes(text, &error.causes);
        notices.push(Notice::warning("RetrievePayloadFailed", chain.replace('\n', " // ")));
        load
    })?;
    let risk = if retrieved.risk.is_empty() {
        String::new()
    } else {
        let risk = with_causes(retrieved.risk, &retrieved.causes);
        notices.push(Notice::warning("RetrievePayload", risk.clone()));
        risk
    };
    let Target { version, image, .. } = target;
    notices.push(Notice::normal(
        "LoadPayload",
        format!("Loading payload version=\"{version}\" image=\"{image}\""),
    ));
    let mut release = site.environment.release_of(&target.image).ok_or_else(|| {
        let missing = format!("stat {}/manifests: no such file or directory", payload_path(image));
        LoadResult::not_loaded(target, &missing)
    })?;
    // The same image can be in several repositories. Use the pull spec that the ClusterVersion has.
    release.image.clone_from(&target.image);
    if let Some(error) = unreadable(site.environment.release_image(&target.image).contents, &release) {
        return Err(LoadResult::not_loaded(target, &error));
    }
    let actual = release.version.to_string();
    if !target.version.is_empty() && target.version != actual {
        return Err(LoadResult::wrong_version(target, &actual));
    }
    Ok(Loaded { release, verified: retrieved.verified, risk })
}

/// Returns the error for an image whose contents cannot be loaded as a payload.
fn unreadable(contents: Contents, release: &Release) -> Option<String> {
    let place = payload_path(&release.image);
    Some(match contents {
        Contents::Payload => return None,
        Contents::NoPayload => format!("stat {place}/manifests: no such file or directory"),
        Contents::NoImageReferences => {
            format!("stat {place}/release-manifests/image-references: no such file or directory")
        }
        Contents::UnreadableMetadata => {
            "unmarshal Cincinnati metadata: unexpected end of JSON input".to_owned()
        }
        // `0.0.1-snapshot` is the default name of an image-references list that no release was made from.
        Contents::OtherImageReferences => format!(
            "version from image-references (0.0.1-snapshot) differs from release-metadata ({})",
            release.version
        ),
        Contents::UnreadableManifest => {
            let last = release.components.last().map(|last| (last.run_level, last.name.as_str()));
            let (run_level, name) = last.unwrap_or_default();
            let file = format!("0000_{run_level:02}_{name}_00_namespace.yaml");
            format!(
                "Error loading manifests from {place}: parse {file}: error parsing: error converting YAML to JSON: yaml: line 4: could not find expected ':'"
            )
        }
    })
}

/// Appends the causes of an error to its text (`unwrappedErrorAggregate`).
fn with_causes(text: String, causes: &str) -> String {
    if causes.is_empty() { text } else { format!("{text}\n{causes}") }
}
