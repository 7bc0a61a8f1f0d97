//! The rights that users needed, as the record of a run has them.

use windtunnel_apiserver::{RequestCount, RuleUse, UserAccess};

use crate::record::{RefusedRequest, RuleRights, UserRights};

/// The most refused requests of one user in a record.
const MOST_REFUSED: usize = 200;

/// Returns the rights that a user needed, without the numbers of its requests.
pub(super) fn of_user(access: UserAccess) -> UserRights {
    let UserAccess { user, is_privileged, rules, refused, .. } = access;
    let refused_more = refused.len().saturating_sub(MOST_REFUSED);
    UserRights {
        user,
        is_privileged,
        rules: rules.into_iter().map(rule).collect(),
        refused: refused.into_iter().take(MOST_REFUSED).map(request).collect(),
        refused_more,
    }
}

fn rule(rule: RuleUse) -> RuleRights {
    let RuleUse { binding, role, index, rule, used, unused, .. } = rule;
    RuleRights { binding, role, index, rule, used, unused }
}

fn request(count: RequestCount) -> RefusedRequest {
    let RequestCount { verb, group, resource, subresource, namespace, name, path, .. } = count;
    RefusedRequest { verb, group, resource, subresource, namespace, name, path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_refused_requests_is_cut_and_says_so() {
        let refused = |index: usize| RequestCount {
            user: "u".to_owned(),
            verb: "get".to_owned(),
            group: String::new(),
            resource: "pods".to_owned(),
            subresource: String::new(),
            namespace: "default".to_owned(),
            name: format!("pod-{index}"),
            path: String::new(),
            allowed: 0,
            refused: 3,
        };
        let access = |count: usize| UserAccess {
            user: "u".to_owned(),
            is_privileged: false,
            requests: 9,
            rules: Vec::new(),
            refused: (0..count).map(refused).collect(),
        };
        let cut = of_user(access(MOST_REFUSED + 7));
        assert_eq!((cut.refused.len(), cut.refused_more), (MOST_REFUSED, 7));
        let whole = of_user(access(2));
        assert_eq!((whole.refused.len(), whole.refused_more), (2, 0));
        assert_eq!(whole.refused[1].name, "pod-1");
    }
}
