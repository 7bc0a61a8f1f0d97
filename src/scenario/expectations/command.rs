//! `run`: a command line and its expected result.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use semver::Version;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::oc::{Command, Gates, Get};
use windtunnel_update_status::status::Details;

use crate::plan::{CommandCheck, CommandLine, Program, Run, placeholders};
use crate::scenario::reader::Reader;

/// Environment variables that a command line may start with.
const VARIABLES: [&str; 2] = ["OC_ENABLE_CMD_UPGRADE_ACCEPT_RISKS", "OC_ENABLE_CMD_UPGRADE_ROLLBACK"];

/// `$(image 4.16.5)`: the image of that release.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static IMAGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\(\s*image\s+([^\s)]+)\s*\)").expect("pattern"));

/// Parses `run: oc adm upgrade ...` or `run: {command: ..., prints: ...}`.
pub(in crate::scenario) fn run(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Run> {
    let Kind::Map(_) = node.kind else {
        let command = command(reader, node, versions)?;
        let checks = vec![CommandCheck::Code(0)];
        return reject_doomed_command(reader, node, Run { command, checks });
    };
    if node.get("shell").is_some() {
        return script(reader, node);
    }
    let map =
        reader.map(node, "a command to run", &["command", "prints", "warns", "refused", "shell", "exits"])?;
    if let Some(exits) = map.get("exits") {
        reader.error(exits, "`exits` needs `shell`; to expect an error of `oc`, write `refused`");
    }
    let command = map.required(reader, "command", "the command line, such as `oc adm upgrade --to-latest`");
    let command = command.and_then(|node| self::command(reader, node, versions));
    let mut checks = match map.get("refused") {
        None => vec![CommandCheck::Code(0)],
        Some(node) => reader.text_matches(node).into_iter().map(CommandCheck::Refused).collect(),
    };
    let mut texts = |key, check: fn(_) -> CommandCheck| {
        let texts = map.get(key).map(|node| reader.text_matches(node)).unwrap_or_default();
        checks.extend(texts.into_iter().map(check));
    };
    texts("prints", CommandCheck::Prints);
    texts("warns", CommandCheck::Warns);
    reject_doomed_command(reader, node, Run { command: command?, checks })
}

/// Parses `run: {shell: ..., prints: ..., exits: ...}`.
fn script(reader: &mut Reader<'_>, node: &Node) -> Option<Run> {
    let map = reader.map(node, "a script to run", &["shell", "prints", "exits"])?;
    let line = map.get("shell").and_then(|node| reader.text(node, "a script for `sh -c`"))?;
    let code = map.get("exits").map_or(Some(0), |node| reader.number(node, 0, 255));
    let mut checks = vec![CommandCheck::Code(u8::try_from(code?).ok()?)];
    let prints = map.get("prints").map(|node| reader.text_matches(node)).unwrap_or_default();
    checks.extend(prints.into_iter().map(CommandCheck::Prints));
    Some(Run { command: CommandLine::of_script(line), checks })
}

/// Rejects a command whose arguments the client itself always rejects, unless the step expects that.
/// Arguments with a placeholder are accepted, because their value is unknown here.
fn reject_doomed_command(reader: &mut Reader<'_>, node: &Node, run: Run) -> Option<Run> {
    if run.command.words.iter().any(|word| placeholders::has_placeholder(word)) {
        return Some(run);
    }
    let rejection = match run.command.program {
        Program::Upgrade => Command::read(&run.command.words, run.command.gates).err(),
        Program::Get => Get::read(&run.command.words, reader.kinds.defined()).err(),
        Program::Status(_) | Program::Shell => None,
    };
    let rejection = rejection.as_ref().and_then(|output| output.error_message());
    let accepted = run.checks.iter().any(|check| matches!(check, CommandCheck::Code(0)));
    let Some(rejection) = rejection.filter(|_| accepted) else { return Some(run) };
    let first = rejection.lines().next().unwrap_or_default();
    reader.error(
        node,
        format!("the client always rejects this command: {first}; to expect that, add `refused`"),
    );
    None
}

fn command(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<CommandLine> {
    let line = reader.text(node, "a command such as `oc adm upgrade --to-latest`")?;
    let mut image_of = |text: &str| {
        let version =
            text.parse().map_err(|_| format!("expected a version such as `4.14.8`, found `{text}`"))?;
        // Without a cluster no versions are known, and the missing cluster is already an error.
        if versions.is_empty() || versions.contains(&version) {
            return reader.image_of(&version);
        }
        let known: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let hint = did_you_mean(text, known.iter().map(String::as_str));
        Err(format!("no release {text} exists in this scenario: add it to `releases`{hint}"))
    };
    parse(&line, &mut image_of).map_err(|message| reader.error(node, message)).ok()
}

pub(in crate::scenario) fn parse(
    line: &str,
    image_of: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<CommandLine, String> {
    let mut unknown = None;
    let filled = IMAGE.replace_all(line, |found: &Captures<'_>| {
        image_of(&found[1]).unwrap_or_else(|error| {
            unknown = Some(error);
            String::new()
        })
    });
    if let Some(error) = unknown {
        return Err(error);
    }
    let words = shlex::split(&placeholders::in_one_word(&filled))
        .ok_or_else(|| format!("unclosed quote or escape in `{line}`"))?;
    let mut rest = words.as_slice();
    let mut variables = Vec::new();
    while let Some((first, after)) = rest.split_first()
        && let Some((name, value)) = first.split_once('=')
    {
        if !VARIABLES.contains(&name) {
            let hint = did_you_mean(name, VARIABLES);
            return Err(format!("unknown environment variable `{name}`{hint}"));
        }
        variables.push((name, value));
        rest = after;
    }
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    let (program, words) = match words.as_slice() {
        ["oc", "adm", "upgrade", "status", flags @ ..] => (Program::Status(details(flags)?), flags),
        ["oc", "adm", "upgrade", words @ ..] => (Program::Upgrade, words),
        ["oc", "get", words @ ..] => (Program::Get, words),
        words => {
            let known = [3, 2].into_iter().filter_map(|count| Some(words.get(..count)?.join(" ")));
            let hints = known.map(|begin| did_you_mean(&begin, ["oc adm upgrade", "oc get"]));
            let hint = hints.into_iter().find(|hint| !hint.is_empty());
            let hint = hint.unwrap_or_else(|| "; for other commands, write `shell: ...`".to_owned());
            return Err(format!(
                "expected `oc adm upgrade ...` (also its `status`) or `oc get ...`, found `{line}`{hint}"
            ));
        }
    };
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Ok(CommandLine { line: line.to_owned(), program, words, gates: Gates::from_env(variables) })
}

/// Parses the flags of `oc adm upgrade status`, which choose the sections to show in detail.
fn details(flags: &[&str]) -> Result<Details, String> {
    let name = match flags {
        [] => return Ok(Details::None),
        ["--details", name] => name,
        [flag] => flag.strip_prefix("--details=").unwrap_or(flag),
        [_, other, ..] => other,
    };
    Details::named(name).ok_or_else(|| {
        let known =
            Details::NAMES.iter().map(|name| format!("`--details={name}`")).collect::<Vec<_>>().join(", ");
        format!("`oc adm upgrade status` takes {known}, found `{name}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<&str, &str>) {
        let mut image_of = |version: &str| match version {
            "4.16.5" => Ok("quay.io/a/b@sha256:5".to_owned()),
            other => Err(format!("no {other}")),
        };
        let found = parse(line, &mut image_of).map(|found| found.words.join("|"));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{line}");
    }

    #[test]
    fn splits_a_command_line_as_a_shell_does() {
        check("oc adm upgrade", Ok(""));
        check("oc adm  upgrade --to '4.16.5' \"--force\"", Ok("--to|4.16.5|--force"));
        check("oc adm upgrade --to-image $(image 4.16.5)", Ok("--to-image|quay.io/a/b@sha256:5"));
        check("OC_ENABLE_CMD_UPGRADE_ROLLBACK=true oc adm upgrade rollback", Ok("rollback"));
        check("oc adm upgrade --to-image=$(image 4.16.9)", Err("no 4.16.9"));
        check("oc adm upgrade 'x", Err("unclosed quote or escape in `oc adm upgrade 'x`"));
        check("oc get nodes -o yaml", Ok("nodes|-o|yaml"));
        check("oc adm upgrade --to $(kept target) --force", Ok("--to|$(kept:target)|--force"));
        check("oc adm upgrade status --details=all", Ok("--details=all"));
        check(
            "oc adm upgrade status --detail",
            Err("`oc adm upgrade status` takes `--details=none`, `--details=all`, `--details=nodes`, \
                 `--details=health`, `--details=operators`, found `--detail`"),
        );
        check(
            "oc delete nodes",
            Err(
                "expected `oc adm upgrade ...` (also its `status`) or `oc get ...`, found `oc delete nodes`; did you mean `oc get`?",
            ),
        );
        check(
            "OC_ENABLE_CMD_UPGRADE_ROLBACK=true oc adm upgrade rollback",
            Err(
                "unknown environment variable `OC_ENABLE_CMD_UPGRADE_ROLBACK`; did you mean `OC_ENABLE_CMD_UPGRADE_ROLLBACK`?",
            ),
        );
    }
}
