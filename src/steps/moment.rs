//! The moment at the start of an action: `at 70 minutes `, counted from the start of the run, or of a fault: `at change 2 of
//! Node/worker-0 `, counted from the step.

use jiff::SignedDuration;

use crate::plan::FaultEvent;
use crate::scenario::{self, Kinds};

/// Returns the moment at the start of a step, if it has one.
///
/// # Errors
/// The moment is no duration.
pub(super) fn moment(text: &str) -> Result<Option<SignedDuration>, String> {
    let moment = text.strip_suffix(without_moment(text)).and_then(|start| start.strip_prefix("at "));
    moment.map(|moment| scenario::duration(moment.trim(), "`70 minutes`")).transpose()
}

/// Returns the change at the start of a step, if it has one.
///
/// # Errors
/// There is no such kind, or the number is none of a change.
pub(super) fn fault_event(kinds: &Kinds, text: &str) -> Result<Option<FaultEvent>, String> {
    let Some((number, rest)) = text.strip_prefix("at change ").and_then(|rest| rest.split_once(" of "))
    else {
        return Ok(None);
    };
    let object = rest.split(' ').next().unwrap_or_default();
    let (kind, name) = object.split_once('/').map_or((object, None), |(kind, name)| (kind, Some(name)));
    let kind = kinds.find(kind)?.kind.to_string();
    let most = FaultEvent::NTH_MAX;
    let nth = number.parse().ok().filter(|number| (1..=most).contains(number));
    let nth =
        nth.ok_or_else(|| format!("expected the number of a change from 1 to {most}, found {number}"))?;
    Ok(Some(FaultEvent { kind, name: name.map(str::to_owned), nth }))
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

    #[test]
    fn a_fault_can_begin_at_a_change() {
        let found = |text: &str| {
            fault_event(&Kinds::default(), text).map(|event| event.map(|event| event.to_string()))
        };
        let crash = "cluster-version-operator crashes before its next write";
        assert_eq!(
            found(&format!("at change 2 of Node/worker-* {crash}")),
            Ok(Some("change 2 of Node/worker-*".to_owned()))
        );
        assert_eq!(found(&format!("at change 1 of Pod {crash}")), Ok(Some("change 1 of Pod".to_owned())));
        assert_eq!(found(&format!("at 2 hours {crash}")), Ok(None));
        assert_eq!(found(crash), Ok(None));
        assert!(found("at change 0 of Pod x").is_err() && found("at change 2 of Nod x").is_err());
    }
}
