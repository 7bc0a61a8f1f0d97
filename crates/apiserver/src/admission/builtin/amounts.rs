//! Amounts of resources by their names (`ResourceList`), and what pods ask for.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kinds::quantity::Quantity;

/// Amounts by resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The amounts of a stored list. What is beyond all machines counts for nothing.
pub(super) fn read(list: &Value) -> Amounts {
    let amount = |(name, text): (&String, &Value)| {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        Some((name.clone(), Quantity::parse(&text).ok()??))
    };
    list.as_object().into_iter().flatten().filter_map(amount).collect()
}

/// Adds amounts to others.
pub(super) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |found| found.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

/// Of each resource the larger amount.
fn at_least(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if to.get(name).is_none_or(|found| found.compare(*amount).is_lt()) {
            to.insert(name.clone(), *amount);
        }
    }
}

/// What a pod asks for or is limited to, by `requests` or `limits` (`PodRequests`, `PodLimits`): all its containers at
/// once, or the largest of those that run before them, with the sidecars that run by then.
pub(super) fn of_pod(spec: &Value, part: &str) -> Amounts {
    let of = |container: &Value| read(&container["resources"][part]);
    let mut all = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut all, &of(container));
    }
    let (mut sidecars, mut first) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut by_then = of(container);
        if container["restartPolicy"] == "Always" {
            add(&mut all, &by_then);
            add(&mut sidecars, &by_then);
            by_then.clone_from(&sidecars);
        } else {
            add(&mut by_then, &sidecars);
        }
        at_least(&mut first, &by_then);
    }
    at_least(&mut all, &first);
    let overhead = read(&spec["overhead"]);
    if part == "requests" {
        add(&mut all, &overhead);
    } else {
        // Overhead comes to limits that there are.
        for (name, amount) in &overhead {
            if let Some(found) = all.get_mut(name) {
                *found = found.plus(*amount);
            }
        }
    }
    all
}
