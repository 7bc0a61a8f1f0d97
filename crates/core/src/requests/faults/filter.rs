//! The requests that a fault matches.

/// A filter of API requests. Fields that are not set match all; a trailing `*` matches any suffix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// The RBAC verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: Option<String>,
    /// The kind, such as `ClusterVersion`.
    pub kind: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: Option<String>,
    /// The client: a component or a program by its name in the timeline, a user agent or its part before or after the
    /// slash, a user, or the last part of a user name.
    pub by: Option<String>,
}

/// The verbs that [`RequestFilter`] can match.
pub const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The attributes of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestAttributes<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The name; empty if it is not generated yet.
    pub name: &'a str,
    /// The subresource, or an empty text.
    pub subresource: &'a str,
    /// The `User-Agent`. Simulated components use their name, and controllers put that of their program and a slash
    /// before it.
    pub agent: &'a str,
    /// The user.
    pub user: &'a str,
    /// The program of the user's machine that sends the request, or an empty text.
    pub program: &'a str,
}

impl RequestFilter {
    /// Whether the filter matches a request.
    pub fn matches(&self, request: &RequestAttributes<'_>) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| fits(wanted, found));
        let callers = || {
            let (program, name) = request.agent.split_once('/').unwrap_or((request.agent, ""));
            let account = request.user.rsplit(':').next().unwrap_or_default();
            [request.agent, program, name, request.user, account, request.program]
        };
        is(&self.verb, request.verb)
            && is(&self.kind, request.kind)
            && is(&self.name, request.name)
            && is(&self.subresource, request.subresource)
            && self.by.as_deref().is_none_or(|wanted| callers().iter().any(|found| fits(wanted, found)))
    }
}

/// Whether a text matches a pattern, which may end with a star.
fn fits(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => wanted == found,
    }
}

impl std::fmt::Display for RequestFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb.as_deref().unwrap_or("request"))?;
        if let Some(kind) = &self.kind {
            write!(f, " {kind}")?;
        }
        if let Some(name) = &self.name {
            write!(f, "{}{name}", if self.kind.is_some() { "/" } else { " " })?;
        }
        match self.subresource.as_deref() {
            Some("") => f.write_str(" itself")?,
            Some(subresource) => write!(f, " {subresource}")?,
            None => {}
        }
        self.by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> RequestAttributes<'static> {
        RequestAttributes {
            verb: "update",
            kind: "ClusterVersion",
            name: "version",
            subresource: "status",
            agent: "kubelet/worker-0",
            user: "system:node:worker-0",
            program: "my-kubelet",
        }
    }

    #[test]
    fn unset_fields_match_any_request() {
        assert!(RequestFilter::default().matches(&request()));
        let by = |by: &str| {
            RequestFilter { by: Some(by.to_owned()), ..RequestFilter::default() }.matches(&request())
        };
        let known =
            ["kubelet", "kubelet/worker-0", "kubelet/*", "worker-0", "system:node:worker-0", "my-kubelet"];
        assert!(known.into_iter().all(by));
        assert!(!by("kubelet/worker-1") && !by("kube"));
        let itself = RequestFilter { subresource: Some(String::new()), ..RequestFilter::default() };
        assert!(!itself.matches(&request()));
    }
}
