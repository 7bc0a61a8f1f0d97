//! `/healthz`, `/livez`, `/readyz`, and each of their checks at a path of its own.
//!
//! A server that responds is healthy, unless its storage rejects writes: then the etcd checks fail.

use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{Reply, ReplyBody};
use crate::request::Query;

/// The paths that run all checks.
const PROBES: [&str; 3] = ["healthz", "livez", "readyz"];

/// The checks of 1.36 by name, in the order of a recording; those ending with `!` belong only to readiness, and
/// those ending with `-` not to it. Earlier minors
/// lack some of them. OpenShift's server has no etcd checks in its readiness.
const CHECKS: [&str; 38] = [
    "ping",
    "log",
    "loopback-serving-certificate-",
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
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "shutdown!",
];

fn checks(probe: &str) -> impl Iterator<Item = &'static str> {
    let ready = probe == "readyz";
    CHECKS.into_iter().filter_map(move |check| match (check.strip_suffix('!'), check.strip_suffix('-')) {
        (Some(name), _) => ready.then_some(name),
        (_, Some(name)) => (!ready).then_some(name),
        (None, None) => Some(check),
    })
}

/// Whether a path belongs to a health probe.
pub(crate) fn is_probe(path: &str) -> bool {
    let first = path.split('/').find(|part| !part.is_empty());
    first.is_some_and(|first| PROBES.contains(&first))
}

/// Serves a probe, or one of its checks. `stalled` is the reason why the storage, which corresponds to etcd,
/// rejects writes.
pub(super) fn answer(probe: &str, check: &str, query: &Query, stalled: Option<&str>) -> Outcome<Reply> {
    if !check.is_empty() && !checks(probe).any(|name| name == check) {
        return Err(BoxedRejection::unknown_path());
    }
    let reason = stalled.filter(|_| is_of_storage(check));
    let (failed, lines) = report_checks(probe, query, stalled.is_some());
    let (code, text) = match reason {
        Some(why) => (500, format!("internal server error: {why}\n")),
        None if !check.is_empty() => (200, "ok".to_owned()),
        None if failed => (500, format!("{lines}{probe} check failed\n")),
        None if query.is_given("verbose") => (200, format!("{lines}{probe} check passed\n")),
        None => (200, "ok".to_owned()),
    };
    let mut reply = Reply::new(code, ReplyBody::Text(text));
    if check.is_empty() || code != 200 {
        reply.headers.push(("x-content-type-options", "nosniff".to_owned()));
    }
    Ok(reply)
}

/// Whether a check depends on the storage.
fn is_of_storage(check: &str) -> bool {
    check.starts_with("etcd")
}

/// Reports all checks, one per line, and whether one fails. The reason is withheld; only the single check
/// shows it.
fn report_checks(probe: &str, query: &Query, stalled: bool) -> (bool, String) {
    let mut excluded: Vec<&str> = query.all("exclude").flat_map(|names| names.split(',')).collect();
    let (mut failed, mut text) = (false, String::new());
    for check in checks(probe) {
        let left_out = excluded.contains(&check);
        let fails = stalled && is_of_storage(check) && !left_out;
        failed |= fails;
        excluded.retain(|name| *name != check);
        text += &match (left_out, fails) {
            (true, _) => format!("[+]{check} excluded: ok\n"),
            (false, true) => format!("[-]{check} failed: reason withheld\n"),
            (false, false) => format!("[+]{check} ok\n"),
        };
    }
    excluded.sort_unstable();
    excluded.dedup();
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.into_iter().map(quote).collect();
        text +=
            &format!("warn: some health checks cannot be excluded: no matches for {}\n", names.join(", "));
    }
    (failed, text)
}

/// The paths of all probes and their checks.
pub(super) fn paths() -> impl Iterator<Item = String> {
    PROBES.into_iter().flat_map(|probe| {
        let own = checks(probe).map(move |check| format!("/{probe}/{check}"));
        std::iter::once(format!("/{probe}")).chain(own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(probe: &str, check: &str, query: &str) -> Result<String, u16> {
        let (code, text) = stalled(probe, check, query, None)?;
        if code == 200 { Ok(text) } else { Err(code) }
    }

    fn stalled(probe: &str, check: &str, query: &str, why: Option<&str>) -> Result<(u16, String), u16> {
        let reply = answer(probe, check, &Query::parse(query), why).map_err(|rejection| rejection.code)?;
        let ReplyBody::Text(text) = reply.body else { return Err(0) };
        Ok((reply.code, text))
    }

    #[test]
    fn the_etcd_checks_fail_if_the_storage_rejects_writes() {
        let full = |probe, check, query| stalled(probe, check, query, Some("disk full")).unwrap();
        let (code, text) = full("livez", "", "");
        assert_eq!(code, 500);
        assert!(
            text.starts_with("[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[-]etcd failed: reason withheld\n[+]post"),
            "{text}"
        );
        assert!(text.ends_with("livez check failed\n"), "{text}");
        assert!(full("readyz", "", "").1.contains("[-]etcd-readiness failed: reason withheld\n"));
        assert_eq!(full("readyz", "etcd", ""), (500, "internal server error: disk full\n".to_owned()));
        assert_eq!(full("readyz", "ping", ""), (200, "ok".to_owned()));
        assert_eq!(full("livez", "", "exclude=etcd"), (200, "ok".to_owned()));
    }

    #[test]
    fn probes_respond_ok_or_verbosely_on_request() {
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
