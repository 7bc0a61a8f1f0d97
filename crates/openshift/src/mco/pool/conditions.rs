//! Conditions of MachineConfigPools. Reason and message are present even if empty, and a changed condition
//! moves to the end of the list.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
use windtunnel_core::{Object, Write};

/// Sets a condition in a list. Its `lastTransitionTime` changes only with its status.
pub(in crate::mco) fn set(conditions: &mut Vec<Value>, condition: &Condition, now: Time) {
    let old = condition::find(conditions, &condition.kind);
    if old.is_some_and(|old| Condition::from_value(old) == *condition) {
        return;
    }
    let since =
        old.filter(|old| old["status"] == *condition.status).map(|old| old["lastTransitionTime"].clone());
    condition::remove(conditions, &condition.kind);
    conditions.push(json!({
        "type": condition.kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since.unwrap_or_else(|| json!(rfc3339(now))),
    }));
}

/// The write of a condition of `pool`, if it differs.
pub(in crate::mco) fn write(pool: &Object, wanted: &Condition, now: Time) -> Option<Write> {
    if condition::find_in_status(pool, &wanted.kind).map(Condition::from_value).as_ref() == Some(wanted) {
        return None;
    }
    let mut value = pool.to_value();
    let mut list = pool.conditions().to_vec();
    set(&mut list, wanted, now);
    value["status"]["conditions"] = Value::Array(list);
    Some(Write::update_status(&MACHINE_CONFIG_POOLS, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_condition_moves_to_the_end_and_keeps_its_time_unless_its_status_changes() {
        let at = |text: &str| text.parse::<Time>().unwrap();
        let mut list = Vec::new();
        let (morning, noon) = (at("2024-01-01T08:00:00Z"), at("2024-01-01T12:00:00Z"));
        set(&mut list, &Condition::new("Updated", "False", "", ""), morning);
        set(&mut list, &Condition::new("Updating", "True", "", "to a"), morning);
        set(&mut list, &Condition::new("Updated", "False", "", ""), noon);
        set(&mut list, &Condition::new("Updating", "True", "", "to b"), noon);
        set(&mut list, &Condition::new("Updated", "True", "", ""), noon);
        let seen: Vec<_> =
            list.iter().map(|c| (c["type"].as_str().unwrap(), &c["lastTransitionTime"])).collect();
        assert_eq!(
            seen,
            [("Updating", &json!("2024-01-01T08:00:00Z")), ("Updated", &json!("2024-01-01T12:00:00Z"))]
        );
    }
}
