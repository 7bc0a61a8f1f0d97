//! Amounts of resources by name (`ResourceList`), and the requests and limits of pods.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::quantity::Quantity;

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Quantity>;

/// Parses the amounts of a stored list. Leaves out amounts that a quantity cannot hold.
pub fn read(list: &Value) -> Amounts {
    let amount = |(name, text): (&String, &Value)| {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        Some((name.clone(), Quantity::parse(&text).ok()??))
    };
    list.as_object().into_iter().flatten().filter_map(amount).collect()
}

/// Adds amounts to others.
pub fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |found| found.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

/// Raises each amount to at least that in `other`.
fn raise_to(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if to.get(name).is_none_or(|found| found.compare(*amount).is_lt()) {
            to.insert(name.clone(), *amount);
        }
    }
}

/// The `requests` or `limits` that a pod specifies for all of its containers together.
fn pod_level(spec: &Value, part: &str) -> Amounts {
    let mut amounts = read(&spec["resources"][part]);
    amounts.retain(|name, _| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-"));
    amounts
}

/// Whether a pod specifies requests or limits for all of its containers together.
pub fn has_pod_level(spec: &Value) -> bool {
    ["requests", "limits"].iter().any(|part| !pod_level(spec, part).is_empty())
}

/// The `requests` or `limits` of a pod (`PodRequests`, `PodLimits`): the sum of its containers and sidecars, or the
/// largest init container together with the sidecars before it, whichever is more.
pub fn pod_amounts(spec: &Value, part: &str) -> Amounts {
    let container_amounts = |container: &Value| read(&container["resources"][part]);
    let mut all = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut all, &container_amounts(container));
    }
    let (mut sidecars, mut first) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut by_then = container_amounts(container);
        if container["restartPolicy"] == "Always" {
            add(&mut all, &by_then);
            add(&mut sidecars, &by_then);
            by_then.clone_from(&sidecars);
        } else {
            add(&mut by_then, &sidecars);
        }
        raise_to(&mut first, &by_then);
    }
    raise_to(&mut all, &first);
    all.extend(pod_level(spec, part));
    let overhead = read(&spec["overhead"]);
    if part == "requests" {
        add(&mut all, &overhead);
    } else {
        // Overhead only raises limits that are set.
        for (name, amount) in &overhead {
            if let Some(found) = all.get_mut(name) {
                *found = found.plus(*amount);
            }
        }
    }
    all
}
