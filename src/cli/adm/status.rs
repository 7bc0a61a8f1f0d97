//! The words of `oc adm upgrade status`, and what the client says to others.

use windtunnel_openshift::oc::Said;
use windtunnel_update_status::status::Details;

use crate::cli::live::plain;

/// Which sections are to be shown in detail, by the words after `oc adm upgrade status`.
///
/// # Errors
/// What the client says to words that make no sense.
pub(super) fn details(words: &[String]) -> Result<Details, Said> {
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

fn usage(message: &str) -> Said {
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
    fn details_are_asked_for_by_name() {
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
