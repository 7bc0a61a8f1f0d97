//! Tests of the trust between Prometheus and the operator's serving certificate.

use std::collections::BTreeMap;

use serde_json::json;
use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::CONFIG_MAPS;

use super::{NOW, cluster, put};
use crate::certificate::Certificate;
use crate::environment::Environment;
use crate::monitoring::{Counted, SERVING_CERTIFICATE, query};
use crate::promql::{self, parse};

/// The trusted signers, the counters, and whether the scrape succeeds.
type Case<'a> = (Option<&'a [&'a str]>, &'a [Counter], bool);

fn served(signer: &str, count: u64) -> Counter {
    let labels = BTreeMap::from([("signer".to_owned(), signer.to_owned())]);
    Counter { by: "cluster-version-operator".to_owned(), metric: SERVING_CERTIFICATE, labels, count }
}

/// The number of samples of a query when these signers are trusted. `None` means that there is no bundle.
fn found(expr: &str, trusted: Option<&[&str]>, counters: &[Counter]) -> usize {
    let mut view = cluster();
    if let Some(trusted) = trusted {
        let bundle: String = trusted.iter().map(|key| Certificate::of_signer("signer", *key).pem()).collect();
        let map = json!({ "data": { "service-ca.crt": bundle } });
        put(&mut view, &CONFIG_MAPS, "openshift-monitoring", "serving-certs-ca-bundle", map);
    }
    let counted = Counted { transitions: None, counters };
    match query(&parse(expr).unwrap(), &Environment::default(), &view, counted, NOW).unwrap() {
        promql::Value::Vector(samples) => samples.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_certificate_of_an_untrusted_signer_fails_the_scrape() {
    let (old, new) = ([served("a", 1)], [served("a", 0), served("b", 1)]);
    let cases: [Case<'_>; 7] = [
        (None, &[], true),
        (Some(&["a"]), &[], true),
        (Some(&["a"]), &old, true),
        (Some(&["b"]), &old, false),
        (Some(&["a", "b"]), &old, true),
        (Some(&["b"]), &new, true),
        (None, &old, false),
    ];
    for (trusted, counters, answers) in cases {
        let case = format!("{trusted:?} {counters:?}");
        assert_eq!(found("up == 1", trusted, counters) == 1, answers, "{case}");
        assert_eq!(found("up == 0", trusted, counters) == 1, !answers, "{case}");
        assert_eq!(found("cluster_version{type=\"initial\"}", trusted, counters) == 1, answers, "{case}");
    }
}
