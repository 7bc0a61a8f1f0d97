//! Parses the arguments of `oc adm upgrade status`, with the error messages of `oc`.

use windtunnel_openshift::oc::CommandOutput;
use windtunnel_update_status::status::Details;

use crate::cli::live::client_error;

/// Returns the sections to show in detail, from the arguments after `oc adm upgrade status`.
///
/// # Errors
/// The message of `oc` about invalid arguments, or the help text.
pub(super) fn details(arguments: &[String]) -> Result<Details, CommandOutput> {
    let mut details = Details::None;
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        let (flag, value) =
            argument.split_once('=').map_or((argument, None), |(flag, value)| (flag, Some(value)));
        if !flag.starts_with('-') {
            return Err(client_error(
                "positional arguments given\nSee 'oc adm upgrade status -h' for help and examples",
            ));
        }
        if matches!(flag, "-h" | "--help") {
            return Err(CommandOutput { stdout: help(), ..CommandOutput::default() });
        }
        if flag != "--details" {
            return Err(usage(&format!("unknown flag: {flag}")));
        }
        let value =
            value.or_else(|| arguments.next()).ok_or_else(|| usage("flag needs an argument: --details"))?;
        details = Details::named(value).ok_or_else(|| {
            let known = Details::NAMES.join(", ");
            client_error(&format!("invalid value for --details: {value} (must be one of {known})"))
        })?;
    }
    Ok(details)
}

/// Returns the text for `--help`.
fn help() -> String {
    format!(
        "Display the status of the current update\n\nUsage: oc adm upgrade status [OPTIONS]\n\nOptions:\n      \
         --details <SECTIONS>  Sections to show in detail [default: none] [possible values: {}]\n  \
         -h, --help                Print help\n",
        Details::NAMES.join(", ")
    )
}

fn usage(message: &str) -> CommandOutput {
    client_error(&format!("{message}\nSee 'oc adm upgrade status --help' for usage."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let found = details(&words).map_or_else(|output| output.stderr, |details| details.name().to_owned());
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn help_exits_with_success() {
        for flag in ["--help", "-h"] {
            let output = details(&[flag.to_owned()]).unwrap_err();
            assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{flag}");
            assert!(output.stdout.contains("--details <SECTIONS>"), "{}", output.stdout);
        }
    }

    #[test]
    fn parses_details_and_rejects_other_arguments() {
        check("", "none");
        check("--details=all", "all");
        check("--details health", "health");
        check(
            "--details=everything",
            "error: invalid value for --details: everything (must be one of none, all, nodes, health, operators)\n",
        );
        check(
            "now",
            "error: positional arguments given\nSee 'oc adm upgrade status -h' for help and examples\n",
        );
        check(
            "--detail=all",
            "error: unknown flag: --detail\nSee 'oc adm upgrade status --help' for usage.\n",
        );
        check(
            "--details",
            "error: flag needs an argument: --details\nSee 'oc adm upgrade status --help' for usage.\n",
        );
    }
}
