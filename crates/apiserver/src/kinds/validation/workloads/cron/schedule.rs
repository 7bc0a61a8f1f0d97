//! Schedules of CronJobs, with the messages of `github.com/robfig/cron`.

use super::zone;
use crate::gotext::{self, duration};

/// A field of a schedule: its least and greatest number, and the names of its numbers, from the least.
struct Field {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, names: &[] },
    Field { least: 0, most: 23, names: &[] },
    Field { least: 1, most: 31, names: &[] },
    Field { least: 1, most: 12, names: &MONTHS },
    Field { least: 0, most: 6, names: &DAYS },
];
const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks a schedule (`ParseStandard`).
///
/// # Errors
/// The problem of the schedule.
pub(in crate::kinds::validation) fn parse(schedule: &str) -> Result<(), String> {
    let schedule = without_zone(schedule)?;
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let count = fields.len();
        return Err(format!("expected exactly 5 fields, found {count}: [{}]", fields.join(" ")));
    }
    for (given, field) in fields.into_iter().zip(&FIELDS) {
        for range in given.split(',').filter(|range| !range.is_empty()) {
            check_range(range, field)?;
        }
    }
    Ok(())
}

/// The schedule after its time zone, if it has one.
fn without_zone(schedule: &str) -> Result<&str, String> {
    let Some(rest) = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) else {
        return Ok(schedule);
    };
    let Some((name, rest)) = rest.split_once(' ') else {
        // A real server recovers from a panic here.
        return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned());
    };
    if name.is_empty() || name == "Local" || zone::is_known(name) {
        return Ok(rest.trim());
    }
    Err(format!("provided bad location {name}: unknown time zone {name}"))
}

fn descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(interval) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    match duration::parse(interval) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("failed to parse duration {text}: {why}")),
    }
}

fn check_range(range: &str, field: &Field) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let limits: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = match limits.as_slice() {
        [] | ["*" | "?", ..] => (field.least, field.most),
        [only] => {
            let number = number_or_name(only, field)?;
            (number, number)
        }
        [first, last] => (number_or_name(first, field)?, number_or_name(last, field)?),
        [first, ..] => {
            number_or_name(first, field)?;
            return Err(format!("too many hyphens: {range}"));
        }
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => number(step)?,
        _ => return Err(format!("too many slashes: {range}")),
    };
    if parts.len() == 2 && limits.len() == 1 {
        end = field.most;
    }
    let Field { least, most, .. } = field;
    if start < *least {
        return Err(format!("beginning of range ({start}) below minimum ({least}): {range}"));
    }
    if end > *most {
        return Err(format!("end of range ({end}) above maximum ({most}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn number_or_name(text: &str, field: &Field) -> Result<u64, String> {
    match field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(place) => Ok(field.least + place as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<i64>() {
        Ok(number) => {
            u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
        Err(_) => {
            let why = if is_number { "value out of range" } else { "invalid syntax" };
            let quoted = gotext::quote(text);
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {quoted}: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_schedules_of_cron() {
        for schedule in [
            "* * * * *",
            "*/5 0-12/2 1,15 JAN-dec MON",
            "0 0 ? * 1-5",
            "5/10 * * * *",
            "@hourly",
            "@every 1h30m",
        ] {
            assert_eq!(parse(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn rejects_other_schedules_with_the_messages_of_cron() {
        for (schedule, why) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("*/1/2 * * * *", "too many slashes: */1/2"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("MON * * * *", "failed to parse int from MON: strconv.Atoi: parsing \"MON\": invalid syntax"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("@never", "unrecognized descriptor: @never"),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
        ] {
            assert_eq!(parse(schedule), Err(why.to_owned()), "{schedule}");
        }
    }
}
