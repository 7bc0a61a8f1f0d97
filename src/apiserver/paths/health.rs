//! `/healthz`, `/livez`, `/readyz`, and each of their checks under a path of its own.
//!
//! A server that answers is healthy: there is nothing beside it that could be ill.

use crate::apiserver::gotext::quote;
use crate::apiserver::reply::{Reply, ReplyBody};
use crate::apiserver::request::Query;
use crate::apiserver::status::{Outcome, Refused};

/// The checks by name; those that end with `!` belong to readiness alone.
const CHECKS: [&str; 31] = [
    "ping",
    "log",
    "etcd",
    "etcd-readiness!",
    "informer-sync!",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "shutdown!",
];

fn checks(probe: &str) -> impl Iterator<Item = &'static str> {
    let ready = probe == "readyz";
    CHECKS.into_iter().filter_map(move |check| match check.strip_suffix('!') {
        Some(name) => ready.then_some(name),
        None => Some(check),
    })
}

/// Answers a probe, or one of its checks.
pub(super) fn answer(probe: &str, check: &str, query: &Query) -> Outcome<Reply> {
    if !check.is_empty() && !checks(probe).any(|name| name == check) {
        return Err(Refused::unknown_path());
    }
    let ok = "ok".to_owned();
    let verbose = check.is_empty() && query.is_given("verbose");
    let text = if verbose { told(probe, query) } else { ok };
    let mut reply = Reply::new(200, ReplyBody::Text(text));
    reply.headers.push(("x-content-type-options", "nosniff".to_owned()));
    Ok(reply)
}

/// All checks, a line each.
fn told(probe: &str, query: &Query) -> String {
    let mut excluded: Vec<&str> = query.all("exclude").flat_map(|names| names.split(',')).collect();
    let mut text = String::new();
    for check in checks(probe) {
        let left_out = excluded.contains(&check);
        excluded.retain(|name| *name != check);
        text += &if left_out { format!("[+]{check} excluded: ok\n") } else { format!("[+]{check} ok\n") };
    }
    excluded.sort_unstable();
    excluded.dedup();
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.into_iter().map(quote).collect();
        text +=
            &format!("warn: some health checks cannot be excluded: no matches for {}\n", names.join(", "));
    }
    text + probe + " check passed\n"
}

/// The paths of all probes and checks.
pub(super) fn paths() -> impl Iterator<Item = String> {
    ["healthz", "livez", "readyz"].into_iter().flat_map(|probe| {
        let own = checks(probe).map(move |check| format!("/{probe}/{check}"));
        std::iter::once(format!("/{probe}")).chain(own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(probe: &str, check: &str, query: &str) -> Result<String, u16> {
        let reply = answer(probe, check, &Query::parse(query)).map_err(|refused| refused.code)?;
        let ReplyBody::Text(text) = reply.body else { return Err(0) };
        Ok(text)
    }

    #[test]
    fn probes_say_ok_and_more_when_they_are_asked() {
        assert_eq!(text("livez", "", "").as_deref(), Ok("ok"));
        assert_eq!(text("readyz", "ping", "").as_deref(), Ok("ok"));
        assert_eq!(text("readyz", "nope", ""), Err(404));
        assert_eq!(text("livez", "shutdown", ""), Err(404));
        let verbose = text("readyz", "", "verbose&exclude=etcd&exclude=nope").unwrap();
        assert!(verbose.starts_with("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n"), "{verbose}");
        let end = "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"nope\"\n\
                   readyz check passed\n";
        assert!(verbose.ends_with(end), "{verbose}");
    }
}
