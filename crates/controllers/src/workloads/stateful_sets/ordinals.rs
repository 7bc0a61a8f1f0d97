//! The ordinals of the pods of a StatefulSet, and the names with them.

use windtunnel_core::Object;

/// The name of the pod with this ordinal.
pub(super) fn name(set: &Object, ordinal: i64) -> String {
    format!("{}-{ordinal}", set.name())
}

/// The ordinal of a pod of this name; `None` if it is not the name of a pod of the set.
pub(super) fn ordinal(set: &Object, pod: &str) -> Option<i64> {
    let digits = pod.strip_prefix(set.name())?.strip_prefix('-')?;
    let ordinal: i32 = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some(i64::from(ordinal))
}

/// The ordinal of the first pod.
pub(super) fn first_ordinal(set: &Object) -> i64 {
    set.number("/spec/ordinals/start").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ordinal_of_a_pod_is_in_its_name() {
        let set = Object::new(json!({ "metadata": { "name": "db" } }));
        for (pod, expected) in [
            ("db-0", Some(0)),
            ("db-12", Some(12)),
            ("db", None),
            ("db-", None),
            ("db-x", None),
            ("db-+1", None),
            ("db-other-0", None),
            ("db-99999999999", None),
        ] {
            assert_eq!(ordinal(&set, pod), expected, "{pod}");
        }
    }
}
