//! The arguments of a command, parsed like the client's flag library (`pflag`) and validated.

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, Args, FromArgMatches, Parser};

use super::accept::{self, Change};
use super::channel::Channel;
use super::outcome::CommandOutput;
use super::pullspec::Pullspec;
use super::recommend::Recommend;
use super::semantic_version;

const NAME: &str = "oc adm upgrade";

/// The commands that the client hides unless an environment variable enables them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    /// `accept`: `OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS=true`.
    pub accept_risks: bool,
    /// `rollback`: `OC_ENABLE_CMD_UPGRADE_ROLLBACK=true`.
    pub rollback: bool,
}

impl Gates {
    /// Reads the gates from environment variables; ignores all others.
    pub fn from_env<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut gates = Self::default();
        for (name, value) in variables {
            match name {
                "OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS" => gates.accept_risks = value == "true",
                "OC_ENABLE_CMD_UPGRADE_ROLLBACK" => gates.rollback = value == "true",
                _ => {}
            }
        }
        gates
    }
}

/// The action of a command.
#[derive(Debug, Clone)]
pub(super) enum Verb {
    /// `oc adm upgrade`: prints the status, or requests an update.
    Upgrade(Upgrade),
    /// `oc adm upgrade accept`.
    Accept(Change),
    /// `oc adm upgrade channel`.
    Channel(Channel),
    /// `oc adm upgrade recommend`.
    Recommend(Recommend),
    /// `oc adm upgrade rollback`.
    Rollback,
}

/// `oc adm upgrade`.
#[derive(Debug, Clone, Default, Parser)]
#[command(
    name = "oc adm upgrade",
    about = "Check on upgrade status or upgrade the cluster to a newer version. Subcommands: accept, channel, recommend, rollback."
)]
#[expect(clippy::struct_excessive_bools, clippy::struct_field_names, reason = "the client's flags")]
pub(super) struct Upgrade {
    /// The version to upgrade to, one of the available updates.
    #[arg(long, default_value = "")]
    pub(super) to: String,
    /// The release image to upgrade to.
    #[arg(long, default_value = "")]
    pub(super) to_image: String,
    /// Upgrade to the highest available version.
    #[arg(long)]
    pub(super) to_latest: bool,
    /// Upgrade the current version to multiple architectures.
    #[arg(long)]
    pub(super) to_multi_arch: bool,
    /// Cancel an update request that has not started yet.
    #[arg(long)]
    pub(super) clear: bool,
    /// Upgrade even if the cluster's verification or preconditions fail.
    #[arg(long)]
    pub(super) force: bool,
    /// Upgrade to an image that is not one of the available updates.
    #[arg(long)]
    pub(super) allow_explicit_upgrade: bool,
    /// Upgrade even if the client's checks fail.
    #[arg(long)]
    pub(super) allow_upgrade_with_warnings: bool,
    /// Also show updates that are not recommended.
    #[arg(long)]
    pub(super) include_not_recommended: bool,
    /// Upgrade to a version that is not recommended.
    #[arg(long)]
    pub(super) allow_not_recommended: bool,
    /// Only check the update: `preflight`. Nothing is updated.
    #[arg(long, default_value = "")]
    mode: String,
    /// Cancel a preflight check.
    #[arg(long)]
    pub(super) clear_preflight: bool,
    #[arg(hide = true)]
    words: Vec<String>,
}

/// `oc adm upgrade accept`.
#[derive(Debug, Parser)]
#[command(name = "oc adm upgrade accept", about = "Accept risks of conditional updates: RiskA,RiskB-")]
struct AcceptFlags {
    /// Remove all risks that were accepted before.
    #[arg(long)]
    replace: bool,
    /// Remove all accepted risks.
    #[arg(long)]
    clear: bool,
    words: Vec<String>,
}

/// `oc adm upgrade channel`.
#[derive(Debug, Parser)]
#[command(name = "oc adm upgrade channel", about = "Set or clear the update channel")]
struct ChannelFlags {
    /// Set a channel even if the current release does not list it.
    #[arg(long)]
    allow_explicit_channel: bool,
    words: Vec<String>,
}

/// `oc adm upgrade recommend`.
#[derive(Debug, Parser)]
#[command(name = "oc adm upgrade recommend", about = "Display recommendations of updates")]
struct RecommendFlags {
    /// Show all releases instead of only the newest two of each minor.
    #[arg(long)]
    show_outdated_releases: bool,
    /// Show one release.
    #[arg(long, default_value = "")]
    version: String,
    /// Print only the names of issues that are not accepted.
    #[arg(long)]
    quiet: bool,
    /// Names of issues that are acceptable.
    #[arg(long, value_delimiter = ',')]
    accept: Vec<String>,
    words: Vec<String>,
}

/// `oc adm upgrade rollback`.
#[derive(Debug, Parser)]
#[command(name = "oc adm upgrade rollback", about = "Roll the cluster back to the previous release")]
struct RollbackFlags {
    words: Vec<String>,
}

impl Upgrade {
    /// Returns whether the flags request an update.
    pub(super) fn requests_update(&self) -> bool {
        self.to_latest || !self.to.is_empty() || !self.to_image.is_empty()
    }

    /// Returns whether the flags request a preflight check.
    pub(super) fn is_preflight(&self) -> bool {
        !self.mode.is_empty()
    }

    /// Validates the flags of preflight checks.
    fn check_mode(&self) -> Result<(), String> {
        if self.is_preflight() && self.mode != "preflight" {
            return Err(format!("--mode must be \"preflight\", not {:?}", self.mode));
        }
        if self.is_preflight() && !self.requests_update() {
            return Err("--mode requires a target: add --to, --to-image or --to-latest".to_owned());
        }
        let others = self.requests_update() || self.to_multi_arch || self.clear;
        if self.clear_preflight && others {
            return Err("--clear-preflight may not be specified with any other flags".to_owned());
        }
        Ok(())
    }

    /// Validates the flags; adds warnings to `output`.
    fn check(&self, output: &mut CommandOutput) -> Result<(), String> {
        self.check_mode()?;
        if self.clear && (self.requests_update() || self.to_multi_arch) {
            return Err("--clear may not be specified with any other flags".to_owned());
        }
        if self.to_multi_arch && self.requests_update() {
            return Err("--to-multi-arch may not be used with --to, --to-image, or --to-latest".to_owned());
        }
        if !self.to.is_empty() && !self.to_image.is_empty() {
            return Err("only one of --to or --to-image may be provided".to_owned());
        }
        if !self.to.is_empty() {
            semantic_version::parse(&self.to).map_err(|error| {
                format!("--to must be a semantic version (e.g. 4.0.1 or 4.1.0-nightly-20181104): {error}")
            })?;
        }
        if self.to_image.is_empty() { Ok(()) } else { self.check_image(output) }
    }

    /// A version is a valid image name too, so the image must have a registry or repository.
    fn check_image(&self, output: &mut CommandOutput) -> Result<(), String> {
        let image = Pullspec::of_release(&self.to_image)
            .map_err(|error| format!("--to-image must be a valid image pull spec: {error}"))?;
        if image.tag.is_empty() {
            return Ok(());
        }
        if !self.force {
            return Err("--to-image must be a by-digest pull spec, unless --force is also set, because release images that are not accessed via digest cannot be verified by the cluster.  Even when --force is set, using tags is not recommended, although we continue to allow it for backwards compatibility".to_owned());
        }
        output.warn("warning: Using by-tag pull specs is dangerous, and while we still allow it in combination with --force for backward compatibility, it would be much safer to pass a by-digest pull spec instead");
        Ok(())
    }
}

/// Parses the arguments of `oc adm upgrade`. Returns the action, and the warnings about its arguments.
pub(super) fn parse_verb(words: &[String], gates: Gates) -> Result<(Verb, CommandOutput), CommandOutput> {
    let mut warnings = CommandOutput::default();
    let (name, rest) = words.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    let verb = match name {
        "accept" if gates.accept_risks => {
            let flags: AcceptFlags = flags(accept::NAME, rest)?;
            let change = Change::parse(flags.clear, flags.replace, &flags.words);
            Verb::Accept(change.map_err(|error| CommandOutput::default().fail_usage(&error, accept::NAME))?)
        }
        "channel" => {
            let name = format!("{NAME} channel");
            let flags: ChannelFlags = flags(&name, rest)?;
            if flags.words.len() > 1 {
                return Err(warnings.fail_usage("multiple positional arguments given", &name));
            }
            let channel = flags.words.into_iter().next().unwrap_or_default();
            Verb::Channel(Channel { name: channel, allow_explicit: flags.allow_explicit_channel })
        }
        "recommend" => {
            let name = format!("{NAME} recommend");
            let flags: RecommendFlags = flags(&name, rest)?;
            no_words(&flags.words, &name)?;
            Verb::Recommend(recommend(flags).map_err(|error| CommandOutput::default().fail(&error))?)
        }
        "rollback" if gates.rollback => {
            let name = format!("{NAME} rollback");
            let flags: RollbackFlags = flags(&name, rest)?;
            no_words(&flags.words, &name)?;
            Verb::Rollback
        }
        _ => {
            let flags: Upgrade = flags(NAME, words)?;
            no_words(&flags.words, NAME)?;
            if let Err(error) = flags.check(&mut warnings) {
                return Err(warnings.fail(&error));
            }
            Verb::Upgrade(flags)
        }
    };
    Ok((verb, warnings))
}

fn recommend(flags: RecommendFlags) -> Result<Recommend, String> {
    let RecommendFlags { show_outdated_releases, version, quiet, accept, .. } = flags;
    if version.is_empty() && quiet {
        return Err("--quiet can only be set when --version is set".to_owned());
    }
    if !version.is_empty() && show_outdated_releases {
        return Err("when --version is set, --show-outdated-releases is unnecessary".to_owned());
    }
    let parsed = semantic_version::parse(&version)
        .map_err(|error| format!("cannot parse SemVer target {version:?}: {error}"));
    let version = if version.is_empty() { None } else { Some(parsed?) };
    Ok(Recommend { show_outdated_releases, version, quiet, accept: accept.into_iter().collect() })
}

fn no_words(words: &[String], name: &str) -> Result<(), CommandOutput> {
    if words.is_empty() {
        return Ok(());
    }
    Err(CommandOutput::default().fail_usage(&format!("unknown command {:?}", words.join(" ")), name))
}

/// Parses the flags of a command.
fn flags<F: Parser + Args + FromArgMatches>(name: &str, words: &[String]) -> Result<F, CommandOutput> {
    let command = F::command().no_binary_name(true).args_override_self(true).disable_version_flag(true);
    let command = command.mut_args(with_value);
    let matches = command.try_get_matches_from(words);
    matches.and_then(|matches| F::from_arg_matches(&matches)).map_err(|error| usage_error(&error, name))
}

/// Allows `--force=true` as well.
fn with_value(flag: Arg) -> Arg {
    if !matches!(flag.get_action(), ArgAction::SetTrue) {
        return flag;
    }
    let flag = flag.action(ArgAction::Set).num_args(0..=1).require_equals(true);
    flag.default_missing_value("true").default_value("false").value_parser(boolean)
}

/// Returns the client's message for invalid flags, or the help text.
fn usage_error(error: &clap::Error, name: &str) -> CommandOutput {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let flag = context(ContextKind::InvalidArg);
    let flag = flag.split(['=', ' ', '[']).next().unwrap_or_default();
    let value = context(ContextKind::InvalidValue);
    let text = match error.kind() {
        ErrorKind::DisplayHelp => {
            return CommandOutput { stdout: error.to_string(), ..CommandOutput::default() };
        }
        ErrorKind::UnknownArgument if flag.starts_with("--") => format!("unknown flag: {flag}"),
        ErrorKind::UnknownArgument => {
            format!("unknown shorthand flag: {:?} in {flag}", flag.chars().nth(1).unwrap_or('-'))
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("flag needs an argument: {flag}"),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => format!(
            "invalid argument {value:?} for {flag:?} flag: strconv.ParseBool: parsing {value:?}: invalid syntax"
        ),
        _ => error.to_string().trim_start_matches("error: ").trim_end().to_owned(),
    };
    CommandOutput::default().fail(&format!("{text}\nSee '{name} --help' for usage."))
}

/// Parses a boolean like Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("invalid syntax".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, expected: &str) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let found = parse_verb(&words, Gates::default()).err().unwrap_or_default();
        assert_eq!(found.stderr, expected, "{words:?}");
        assert_eq!(found.code, u8::from(!expected.is_empty()), "{words:?}");
    }

    #[test]
    fn accepts_flags_in_all_notations() {
        check("--to 4.16.6 --force=false --force --to-latest=1", "");
        check("--to=4.16.6 --to=4.16.7", "");
        check("channel --allow-explicit-channel=T fast-4.16", "");
        check("recommend --accept=A,B --version 4.17.1", "");
    }

    #[test]
    fn reports_invalid_arguments_like_the_client() {
        let help = "\nSee 'oc adm upgrade --help' for usage.\n";
        check("--too 4.16.6", &format!("error: unknown flag: --too{help}"));
        check("-x", &format!("error: unknown shorthand flag: 'x' in -x{help}"));
        check("--to", &format!("error: flag needs an argument: --to{help}"));
        check(
            "--force=maybe",
            &format!(
                "error: invalid argument \"maybe\" for \"--force\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax{help}"
            ),
        );
        check(
            "channel a b",
            "error: multiple positional arguments given\nSee 'oc adm upgrade channel -h' for help and examples\n",
        );
        check("status --details=all", &format!("error: unknown flag: --details{help}"));
    }

    #[test]
    fn help_exits_with_success() {
        let found = parse_verb(&["--help".to_owned()], Gates::default()).err().unwrap();
        assert_eq!((found.code, found.stderr.as_str()), (0, ""));
        assert!(found.stdout.contains("--allow-not-recommended"), "{}", found.stdout);
    }
}
