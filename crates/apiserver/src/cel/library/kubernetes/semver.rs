//! Semantic versions.

use crate::cel::library::{Row, text};
use crate::cel::value::opaque::{Opaque, Semver};
use crate::cel::value::{EvalError, Outcome, Value};
use crate::gotext::quote;

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (33, "semver(string) -> kubernetes.Semver", semver),
    (33, "semver(string, bool) -> kubernetes.Semver", semver),
    (33, "isSemver(string) -> bool", is_semver),
    (33, "isSemver(string, bool) -> bool", is_semver),
    (33, "kubernetes.Semver: isGreaterThan(kubernetes.Semver) -> bool", greater),
    (33, "kubernetes.Semver: isLessThan(kubernetes.Semver) -> bool", less),
    (33, "kubernetes.Semver: compareTo(kubernetes.Semver) -> int", compare),
    (33, "kubernetes.Semver: major() -> int", major),
    (33, "kubernetes.Semver: minor() -> int", minor),
    (33, "kubernetes.Semver: patch() -> int", patch),
];

fn parse(args: &[Value<'_>]) -> Result<semver::Version, EvalError> {
    let given = text(args, 0);
    let normalise = matches!(args.get(1), Some(Value::Bool(true)));
    let normalised = if normalise { self::normalise(given) } else { given.to_owned() };
    semver::Version::parse(&normalised).map_err(|error| {
        EvalError::new(error_message(&normalised).unwrap_or_else(|| format!("Invalid semver: {error}")))
    })
}

/// The message of the real server's parser about the first mistake of a version.
fn error_message(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return Some("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    [("major", "Major", major), ("minor", "Minor", minor), ("patch", "Patch", patch)]
        .into_iter()
        .find_map(|(name, title, number)| wrong_number(name, title, number))
        .or_else(|| pre?.split('.').find_map(wrong_prerelease))
        .or_else(|| build?.split('.').find_map(wrong_build))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn wrong_number(name: &str, title: &str, number: &str) -> Option<String> {
    let shown = quote(number);
    if !is_number(number) {
        return Some(format!("Invalid character(s) found in {name} number {shown}"));
    }
    if has_leading_zero(number) {
        return Some(format!("{title} number must not contain leading zeroes {shown}"));
    }
    number.is_empty().then(|| "strconv.ParseUint: parsing \"\": invalid syntax".to_owned())
}

fn wrong_prerelease(part: &str) -> Option<String> {
    if part.is_empty() {
        return Some("Prerelease is empty".to_owned());
    }
    if is_number(part) {
        let why = || format!("Numeric PreRelease version must not contain leading zeroes {}", quote(part));
        return has_leading_zero(part).then(why);
    }
    (!is_word(part)).then(|| format!("Invalid character(s) found in prerelease {}", quote(part)))
}

fn wrong_build(part: &str) -> Option<String> {
    if part.is_empty() {
        return Some("Build meta data is empty".to_owned());
    }
    (!is_word(part)).then(|| format!("Invalid character(s) found in build meta data {}", quote(part)))
}

/// Removes `v` and leading zeros, and adds missing numbers.
fn normalise(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut parts: Vec<&str> = numbers
        .split('.')
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0",
            trimmed => trimmed,
        })
        .collect();
    while parts.len() < 3 {
        parts.push("0");
    }
    format!("{}{rest}", parts.join("."))
}

fn semver<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    parse(args).map(|version| Value::opaque(Opaque::Semver(Semver(version))))
}

fn is_semver<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parse(args).is_ok()))
}

fn version_argument(args: &[Value<'_>], index: usize) -> Result<semver::Version, EvalError> {
    match args.get(index) {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Semver(version) => Ok(version.0.clone()),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn order(args: &[Value<'_>]) -> Result<std::cmp::Ordering, EvalError> {
    Ok(version_argument(args, 0)?.cmp_precedence(&version_argument(args, 1)?))
}

fn greater<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn less<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}

fn compare<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn number<'a>(part: u64) -> Outcome<'a> {
    Ok(Value::Int(i64::try_from(part).unwrap_or(i64::MAX)))
}

fn major<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.major)
}

fn minor<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.minor)
}

fn patch<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.patch)
}
