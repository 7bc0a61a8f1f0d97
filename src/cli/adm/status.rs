//! Parses the arguments of `oc adm upgrade status`, with the error messages of `oc`.

use windtunnel_openshift::oc::CommandOutput;
use windtunnel_update_status::status::Details;

use crate::cli::live::plain;

/// Returns the sections to show in detail, from the arguments after `oc adm upgrade status`.
///
/// # Errors
/// The message of `oc` about invalid arguments.
pub(super) fn details(words: &[String]) -> Result<Details, CommandOutput> {
    let mut details = Details::None;
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        if !flag.starts_with('-') {
            return Err(plain(
                "positional arguments given\nSee 'oc adm upgrade status -h' for help and examples",
            ));
        }
        if flag != "--details" {
            return Err(usage(&format!("unknown flag: {flag}")));
        }
        let value =
            value.or_else(|| words.next()).ok_or_else(|| usage("flag needs an argument: --details"))?;
        details = Details::named(value).ok_or_else(|| {
            let known = Details::NAMES.join(", ");
            plain(&format!("invalid value for --details: {value} (must be one of {known})"))
        })?;
    }
    Ok(details)
}

fn usage(message: &str) -> CommandOutput {
    plain(&format!("{message}\nSee 'oc adm upgrade status --help' for usage."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let found = details(&words).map_or_else(|said| said.stderr, |details| details.name().to_owned());
        assert_eq!(found, expected, "{line}");
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
