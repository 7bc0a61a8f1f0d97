//! Semantic versions, parsed and ordered like the client's Go library (`blang/semver`), with its error
//! messages.

use std::cmp::Ordering;

use semver::Version;

/// Parses a version.
///
/// # Errors
/// The error message of the Go library.
pub(super) fn parse(text: &str) -> Result<Version, String> {
    fault(text).map_or_else(|| Version::parse(text).map_err(|error| error.to_string()), Err)
}

/// Returns the Go library's error message for an invalid version.
fn fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let &[major, minor, rest] = parts.as_slice() else {
        return Some("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let numbers = [("major", "Major", major), ("minor", "Minor", minor), ("patch", "Patch", patch)];
    let number = numbers.into_iter().find_map(|(name, title, digits)| number_fault(name, title, digits));
    let pre = || pre.into_iter().flat_map(|pre| pre.split('.')).find_map(pre_release_fault);
    let build = || build.into_iter().flat_map(|build| build.split('.')).find_map(build_fault);
    number.or_else(pre).or_else(build)
}

fn number_fault(name: &str, title: &str, digits: &str) -> Option<String> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("Invalid character(s) found in {name} number {digits:?}"));
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return Some(format!("{title} number must not contain leading zeroes {digits:?}"));
    }
    let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
    digits.parse::<u64>().is_err().then(|| format!("strconv.ParseUint: parsing {digits:?}: {why}"))
}

fn pre_release_fault(part: &str) -> Option<String> {
    if part.is_empty() {
        return Some("Prerelease is empty".to_owned());
    }
    if part.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading = part.len() > 1 && part.starts_with('0');
        return leading
            .then(|| format!("Numeric PreRelease version must not contain leading zeroes {part:?}"));
    }
    (!is_word(part)).then(|| format!("Invalid character(s) found in prerelease {part:?}"))
}

fn build_fault(part: &str) -> Option<String> {
    if part.is_empty() {
        return Some("Build meta data is empty".to_owned());
    }
    (!is_word(part)).then(|| format!("Invalid character(s) found in build meta data {part:?}"))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Orders lists of releases: the highest version first, invalid versions last.
pub(super) fn newest_first(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Ok(a), Ok(b)) => b.cmp_precedence(&a),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(parse(text).err().unwrap_or_default(), expected, "{text}");
    }

    #[test]
    fn reports_invalid_versions_like_the_go_library() {
        check("4.16.5", "");
        check("4.17.0-0.nightly-2025-01-01-000000+amd64", "");
        check("", "Version string empty");
        check("4.16", "No Major.Minor.Patch elements found");
        check("x.16.5", "Invalid character(s) found in major number \"x\"");
        check("4.016.5", "Minor number must not contain leading zeroes \"016\"");
        check("4.16.5.1", "Invalid character(s) found in patch number \"5.1\"");
        check("4.16.", "strconv.ParseUint: parsing \"\": invalid syntax");
        check("4.16.5-", "Prerelease is empty");
        check("4.16.5-01", "Numeric PreRelease version must not contain leading zeroes \"01\"");
        check("4.16.5-a_b", "Invalid character(s) found in prerelease \"a_b\"");
        check("4.16.5+", "Build meta data is empty");
    }

    #[test]
    fn sorts_the_highest_version_first_and_invalid_ones_last() {
        let mut found = ["bad", "4.9.0", "4.10.0-rc.1", "zzz", "4.10.0"];
        found.sort_by(|a, b| newest_first(a, b));
        assert_eq!(found, ["4.10.0", "4.10.0-rc.1", "4.9.0", "zzz", "bad"]);
    }
}
