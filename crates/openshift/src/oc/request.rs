//! `oc adm upgrade --to`, `--to-image`, `--to-latest` and `--to-multi-arch`: finds the requested release,
//! checks whether the update is allowed, and requests it.

use windtunnel_core::Object;

use super::arguments::Upgrade;
use super::cluster_version::{
    Mode, NotRecommended, Release, Update, accepted_risks, available, desired, not_recommended, sort,
};
use super::conditions::{self, reason_and_message};
use super::outcome::{CommandOutput, CommandStep, Patch, Success};
use super::pullspec::Pullspec;

const FORCED: &str = "warning: --force overrides cluster verification of your supplied release image and waives any update precondition failures. Only use this if you are testing unsigned release images or you are working around a known bug in the cluster-version operator and you have verified the authenticity of the provided image yourself.";

const EXPLICIT: &str = "warning: The requested upgrade image is not one of the available updates. You have used --allow-explicit-upgrade for the update to proceed anyway";

/// Requests an update to the release that the flags select.
pub(super) fn update(flags: &Upgrade, cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    let at = desired(cluster_version);
    if !flags.to.is_empty() && flags.to == at.version {
        output.print(&format!("info: Cluster is already at version {}", at.version));
        return CommandStep::Done(output);
    }
    if !flags.to_image.is_empty() && flags.to_image == at.image {
        output.print(&format!("info: Cluster is already at {}", at.image));
        return CommandStep::Done(output);
    }
    let mut search = Search::new(flags, cluster_version);
    match search.run(&mut output) {
        Err(error) => CommandStep::Done(output.fail(&error)),
        Ok(Some(target)) => {
            if flags.force {
                output.warn(FORCED);
            }
            if let Err(error) = guard(flags, cluster_version, &mut output) {
                return CommandStep::Done(output.fail(&error));
            }
            let Release { version, image, .. } = target;
            let what = if flags.is_preflight() { "preflight check of" } else { "update to" };
            let line = match version {
                "" => format!("Requested {what} release image {image}"),
                _ => format!("Requested {what} {version}"),
            };
            request(Update { version, image, ..Update::default() }, flags, cluster_version, output, line)
        }
        Ok(None) => match search.not_found_message() {
            Ok(line) => {
                output.print(&line);
                CommandStep::Done(output)
            }
            Err(error) => CommandStep::Done(output.fail(&error)),
        },
    }
}

/// Requests the multi-architecture payload of the current version.
pub(super) fn to_multi_arch(
    flags: &Upgrade,
    cluster_version: &Object,
    mut output: CommandOutput,
) -> CommandStep {
    if cluster_version.text("/spec/desiredUpdate/architecture") == "Multi" {
        let error = "info: Update to multi cluster architecture has already been requested";
        return CommandStep::Done(output.fail(error));
    }
    if let Err(error) = guard(flags, cluster_version, &mut output) {
        return CommandStep::Done(output.fail(&error));
    }
    if flags.force {
        output.warn(FORCED);
    }
    let version = desired(cluster_version).version;
    let update = Update { architecture: "Multi", version, ..Update::default() };
    let line = "Requested update to multi cluster architecture".to_owned();
    request(update, flags, cluster_version, output, line)
}

fn request(
    update: Update<'_>,
    flags: &Upgrade,
    cluster_version: &Object,
    output: CommandOutput,
    line: String,
) -> CommandStep {
    let mode = if flags.is_preflight() { Mode::Preflight } else { Mode::without_preflight(cluster_version) };
    let update = Update { force: flags.force, accept_risks: accepted_risks(cluster_version), mode, ..update };
    CommandStep::Patch(Patch {
        body: format!("{{\"spec\":{{\"desiredUpdate\": {}}}}}", update.json()),
        output,
        success: Success::Line(line),
        unable: "Unable to upgrade",
    })
}

/// The search for the requested release.
struct Search<'a> {
    flags: &'a Upgrade,
    cluster_version: &'a Object,
    /// The possible updates seen so far.
    targets: Vec<Release<'a>>,
    /// Those of them that are not recommended.
    risky: Vec<NotRecommended<'a>>,
}

impl<'a> Search<'a> {
    fn new(flags: &'a Upgrade, cluster_version: &'a Object) -> Self {
        Self { flags, cluster_version, targets: Vec::new(), risky: Vec::new() }
    }

    /// Returns the release, if it is found. With `--to-latest` this is the newest of the updates seen,
    /// whatever else is requested.
    fn run(&mut self, output: &mut CommandOutput) -> Result<Option<Release<'a>>, String> {
        let mut found = self.recommended();
        if found.is_none() {
            found = self.conditional(output)?;
        }
        if found.is_none() && !self.flags.to_image.is_empty() && self.flags.allow_explicit_upgrade {
            output.warn(EXPLICIT);
            found = Some(Release { version: "", image: &self.flags.to_image, url: "" });
        }
        sort(&mut self.targets);
        if let Some(latest) = self.targets.first().filter(|_| self.flags.to_latest) {
            if let Some(risky) = self.risky.iter().find(|risky| risky.release.image == latest.image) {
                output.warn(&accepted_risk_warning(risky));
            }
            found = Some(*latest);
        }
        Ok(found)
    }

    /// Returns the release if it is an available update, with the requested image. The updates before it
    /// become targets.
    fn recommended(&mut self) -> Option<Release<'a>> {
        for update in available(self.cluster_version) {
            if self.is_meant(update) {
                let requested = self.flags.to_image.as_str();
                return Some(Release {
                    image: if requested.is_empty() { update.image } else { requested },
                    ..update
                });
            }
            self.targets.push(update);
        }
        None
    }

    /// Returns the release if it is an update that is not recommended, which the flags must allow.
    fn conditional(&mut self, output: &mut CommandOutput) -> Result<Option<Release<'a>>, String> {
        for update in not_recommended(self.cluster_version) {
            if self.is_meant(update.release) {
                // A preflight check finds risks, so it needs no acceptance of them.
                if !self.flags.is_preflight() {
                    if !self.flags.allow_not_recommended {
                        return Err(risky(&update));
                    }
                    output.warn(&accepted_risk_warning(&update));
                }
                return Ok(Some(update.release));
            }
            if self.flags.allow_not_recommended {
                self.targets.push(update.release);
                self.risky.push(update);
            }
        }
        Ok(None)
    }

    /// Compares version, image, and digest of the image.
    fn is_meant(&self, release: Release<'_>) -> bool {
        let Upgrade { to, to_image, .. } = self.flags;
        let by_image = !to_image.is_empty()
            && (release.image == to_image || Pullspec::is_same_content(release.image, to_image));
        (!to.is_empty() && release.version == to) || by_image
    }

    /// Returns the message if no release was found: the cluster is already at the latest version, or the
    /// error.
    fn not_found_message(&self) -> Result<String, String> {
        let option = if self.flags.to_image.is_empty() { "--to-image" } else { "--allow-explicit-upgrade" };
        let article = if self.flags.to_latest { "an" } else { "the" };
        let next = format!("{option} to continue with {article} update");
        let or_wait = format!("specify {next} or wait for new updates to be available.");
        let unknown =
            conditions::find(self.cluster_version, "RetrievedUpdates").filter(|found| found.status != "True");
        if let Some(unknown) = unknown {
            return Err(format!(
                "cannot refresh available updates:\n{}\n\nspecify {next}.",
                reason_and_message(&unknown)
            ));
        }
        if !self.targets.is_empty() {
            let versions: Vec<&str> = self.targets.iter().map(|target| target.version).collect();
            let versions = versions.join(", ");
            return Err(format!(
                "the update is not one of the possible targets: {versions}. specify {next}."
            ));
        }
        if self.flags.allow_not_recommended {
            return Err(format!("no recommended or conditional updates, {or_wait}"));
        }
        if self.flags.to_latest {
            let version = desired(self.cluster_version).version;
            return Ok(format!("info: Cluster is already at the latest available version {version}"));
        }
        Err(format!("no recommended updates, {or_wait}"))
    }
}

fn risky(NotRecommended { release, recommended }: &NotRecommended<'_>) -> String {
    format!(
        "the update {} is not one of the recommended updates, but is available as a conditional update. To accept the {}={} risk and to proceed with update use --allow-not-recommended.\n{}\n",
        release.version,
        recommended.kind,
        recommended.status,
        reason_and_message(recommended)
    )
}

fn accepted_risk_warning(NotRecommended { release, recommended }: &NotRecommended<'_>) -> String {
    format!(
        "warning: with --allow-not-recommended you have accepted the risks with {} and bypassed {}={} {}: {}",
        release.version, recommended.kind, recommended.status, recommended.reason, recommended.message
    )
}

/// The client's own checks: it rejects updates of a cluster that is invalid, failing or already updating.
fn guard(flags: &Upgrade, cluster_version: &Object, output: &mut CommandOutput) -> Result<(), String> {
    let at = desired(cluster_version);
    let target = match (at.version, at.image) {
        ("", "") => "ClusterVersion status.desired has neither a version nor image; please open a bug",
        _ => at.name(),
    };
    let failing = format!("the cluster is experiencing an error reconciling {target:?}");
    let guards = [
        ("Invalid", "the cluster version object is invalid, you must correct the invalid state first"),
        ("Failing", failing.as_str()),
        ("Progressing", "the cluster is already upgrading"),
    ];
    let problems = guards.into_iter().filter_map(|(kind, what)| {
        let condition = conditions::find(cluster_version, kind).filter(|found| found.status == "True")?;
        Some(format!("{what}:\n\n{}", reason_and_message(&condition)))
    });
    let problems = problems.collect::<Vec<_>>().join("\n\n");
    if problems.is_empty() {
        return Ok(());
    }
    if !flags.allow_upgrade_with_warnings {
        let anyway = "If you want to upgrade anyway, use --allow-upgrade-with-warnings.";
        return Err(format!("{problems}\n\n{anyway}"));
    }
    output.warn(&format!("warning: --allow-upgrade-with-warnings is bypassing: {problems}"));
    Ok(())
}
