//! Whether a retrieved payload is accepted: it must be the release that was asked for, and pass the preconditions.

use super::apply::Work;
use super::load::Load;
use super::preconditions::{self, Verdict};
use super::retrieve::{Retrieved, Site, Target};
use crate::model::Object;

/// The work that an accepted payload is, or why there is none.
pub(super) fn accept(
    target: &Target,
    outcome: Result<Retrieved, String>,
    site: &Site,
    cluster_version: &Object,
) -> Result<Work, Load> {
    let retrieved = outcome.map_err(|error| Load::not_retrieved(target, &error))?;
    let release = site.world.release_of(&target.image).cloned().ok_or_else(|| Load::no_payload(target))?;
    let actual = release.version.to_string();
    if !target.version.is_empty() && target.version != actual {
        return Err(Load::wrong_version(target, &actual));
    }
    let mut risks = vec![retrieved.risk];
    match preconditions::check(site.behaviour, cluster_version, &release, target.force) {
        Verdict::Passed => {}
        Verdict::Noted(risk) => risks.push(risk),
        Verdict::Blocked(summary) => return Err(Load::blocked(&release, &summary)),
    }
    risks.retain(|risk| !risk.is_empty());
    Ok(Work {
        release,
        generation: target.generation,
        force: target.force,
        verified: retrieved.verified,
        accepted_risks: Some(risks.join("\n")),
    })
}
