//! The moment at the start of an action: `at 70 minutes `, counted from the start of the run, or of a fault: `at change 2 of
//! Node/worker-0 `, counted from the step.

use jiff::SignedDuration;

use crate::scenario;

/// Returns the moment at the start of a step, if it has one.
///
/// # Errors
/// The moment is no duration.
pub(super) fn moment(text: &str) -> Result<Option<SignedDuration>, String> {
    let moment = text.strip_suffix(without_moment(text)).and_then(|start| start.strip_prefix("at "));
    moment.map(|moment| scenario::duration(moment.trim(), "`70 minutes`")).transpose()
}

/// Returns a step without the moment at its start.
pub(super) fn without_moment(text: &str) -> &str {
    let mut words = text.strip_prefix("at ").unwrap_or_default().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some(number), Some(_), Some(rest)) if number.parse::<u32>().is_ok() => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_a_step_into_its_moment_and_the_rest() {
        let check = |text: &str, expected: Result<Option<i64>, ()>, rest: &str| {
            let found = moment(text).map(|found| found.map(|found| found.as_mins())).map_err(drop);
            assert_eq!((found, without_moment(text)), (expected, rest), "{text}");
        };
        check("at 70 minutes I roll back", Ok(Some(70)), "I roll back");
        check("at 2 hours operator dns degrades", Ok(Some(120)), "operator dns degrades");
        check("at 2 apples I roll back", Err(()), "I roll back");
        check("at once", Ok(None), "at once");
        check("I roll back", Ok(None), "I roll back");
    }
}
