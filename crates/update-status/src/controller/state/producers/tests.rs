//! Objects of producers in, insights and reports out.

use serde_json::json;

use super::*;

fn at(minutes: i64) -> Time {
    after("2024-01-01T00:00:00Z".parse().unwrap(), SignedDuration::from_mins(minutes))
}

/// Producers of a cluster that serves the kinds, with informers `one` and `two` in namespaces of these names.
fn producers() -> Producers {
    let mut producers = Producers::default();
    producers.apply_crd_event(Event::InitApply((UPDATE_INFORMER_CRD.to_owned(), true)));
    producers.apply_crd_event(Event::InitDone);
    for name in ["one", "two"] {
        let object = json!({
            "metadata": {"name": name, "generation": 1},
            "spec": {"producer": {"namespace": name}, "about": [{"resource": "nodes"}]},
        });
        producers.apply_registration(Event::InitApply((name.to_owned(), InformerObject::read(&object))));
    }
    producers.apply_registration(Event::InitDone);
    producers.apply_delivery(Event::InitDone);
    producers
}

fn deliver(producers: &mut Producers, namespace: &str, name: &str, informer: &str, minutes: i64) {
    let health = json!({
        "startedAt": "2024-01-01T00:00:00Z",
        "scope": {"type": "ControlPlane", "resources": [{"resource": "nodes", "name": "n"}]},
        "impact": {"level": "Info", "type": "None", "summary": "s"},
        "remediation": {"reference": "https://example.com"},
    });
    let spec = json!({"informer": informer, "health": health});
    let mut delivery = Delivery::new(namespace.to_owned(), name.to_owned(), &spec, at(0));
    delivery.renewed = Some(at(minutes));
    producers.apply_delivery(Event::Apply((delivery.key(), delivery)));
}

/// Assesses, if that is due, and returns the keys of the insights.
fn keys(producers: &mut Producers, minutes: i64) -> String {
    if producers.is_due(at(minutes)) {
        producers.assess(at(minutes)).unwrap();
    }
    producers.informer().by_key().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(" ")
}

/// The conditions that an informer reports, as `<type>=<status> <reason>`, and writes them.
fn report(producers: &mut Producers, name: &str) -> String {
    let Some(status) = producers.reports.get(name).cloned() else { return String::new() };
    let mut object = producers.registrations.get(name).unwrap().clone();
    object.status = status.clone();
    producers.reported(name);
    producers.apply_registration(Event::Apply((name.to_owned(), object)));
    let conditions = status["conditions"].as_array().unwrap().iter();
    let line = |condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        format!("{}={} {}", text("type"), text("status"), text("reason"))
    };
    conditions.map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn insights_are_published_under_their_informer_and_leave_at_expiry() {
    let mut producers = producers();
    assert_eq!(keys(&mut producers, 0), "");
    deliver(&mut producers, "one", "a", "one", 1);
    deliver(&mut producers, "two", "a", "two", 2);
    assert_eq!(keys(&mut producers, 2), "usc.x.one.a usc.x.two.a");
    assert_eq!(
        report(&mut producers, "one"),
        "Registered=True AsExpected, Rejected=False AsExpected, Silent=False AsExpected, DeliveryRejected=False AsExpected"
    );
    assert_eq!(keys(&mut producers, 3), "usc.x.one.a usc.x.two.a");
    assert_eq!(producers.due(), Some(at(11)));
    deliver(&mut producers, "two", "a", "two", 9);
    assert_eq!(keys(&mut producers, 11), "usc.x.two.a");
    assert_eq!(producers.take_news(), [ProducerNews::Silent { informer: "one".to_owned() }]);
    assert_eq!(
        report(&mut producers, "one"),
        "Registered=True AsExpected, Rejected=False AsExpected, Silent=True InsightsExpired, DeliveryRejected=False AsExpected"
    );
    deliver(&mut producers, "one", "a", "one", 12);
    assert_eq!(keys(&mut producers, 12), "usc.x.one.a usc.x.two.a");
    assert!(report(&mut producers, "one").contains("Silent=False AsExpected"));
}

#[test]
fn a_liar_is_reported_and_logged_once_and_harms_nobody() {
    let mut producers = producers();
    deliver(&mut producers, "two", "a", "two", 0);
    deliver(&mut producers, "one", "a", "two", 0);
    deliver(&mut producers, "one", "b", "nobody", 0);
    deliver(&mut producers, "three", "a", "two", 0);
    assert_eq!(keys(&mut producers, 1), "usc.x.two.a");
    let lines = |producers: &mut Producers| {
        let news = producers.take_news().into_iter();
        news.map(|news| format!("{news:?}")).collect::<Vec<_>>()
    };
    let logged = lines(&mut producers);
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[0].contains("\\\"two\\\" is no informer of this namespace"), "{}", logged[0]);
    assert!(logged[2].contains("namespace three has no informer"), "{}", logged[2]);
    assert!(report(&mut producers, "one").contains("Rejected=True ForeignInformer, Silent=False AsExpected"));
    assert!(report(&mut producers, "two").contains("Rejected=False AsExpected"));
    keys(&mut producers, 2);
    assert_eq!(lines(&mut producers), [""; 0]);
    assert_eq!(report(&mut producers, "one"), "");
}

#[test]
fn without_managed_fields_a_change_is_a_renewal_when_it_is_observed() {
    let mut producers = producers();
    assert_eq!(keys(&mut producers, 0), "");
    deliver(&mut producers, "one", "a", "one", 0);
    let mut delivery = producers.deliveries.get("one/a").unwrap().clone();
    delivery.renewed = None;
    assert_eq!(keys(&mut producers, 1), "usc.x.one.a");
    delivery.claimed = Some(at(-60));
    producers.apply_delivery(Event::Apply((delivery.key(), delivery.clone())));
    assert_eq!(keys(&mut producers, 8), "usc.x.one.a");
    assert_eq!([keys(&mut producers, 17), keys(&mut producers, 18)], ["usc.x.one.a", ""]);
    let claims_of = |claimed: i64, now: i64| {
        let claimed = Some(at(claimed));
        let delivery = Delivery { claimed, ..delivery.clone() };
        delivery.renewed_by(at(now), None)
    };
    assert_eq!([claims_of(5, 9), claims_of(60, 9), claims_of(-5, 9)], [at(5), at(0), at(0)]);
}

#[test]
fn a_flood_of_changes_is_assessed_in_intervals() {
    let mut producers = producers();
    assert_eq!(keys(&mut producers, 0), "");
    deliver(&mut producers, "one", "a", "one", 0);
    assert_eq!(keys(&mut producers, 0), "");
    assert_eq!(producers.due(), Some(after(at(0), PACE)));
    assert_eq!(keys(&mut producers, 1), "usc.x.one.a");
}

#[test]
fn the_endpoint_stores_the_insights_of_all_informers() {
    let mut producers = producers();
    let namespace = crate::insight::published::NAMESPACE;
    deliver(&mut producers, namespace, "one.a", "one", 0);
    deliver(&mut producers, namespace, "two.b", "two", 0);
    deliver(&mut producers, namespace, "two.c", "one", 0);
    assert_eq!(keys(&mut producers, 0), "usc.x.one.a usc.x.two.b");
}

#[test]
fn insights_leave_with_their_registration_and_with_the_kind() {
    let mut producers = producers();
    deliver(&mut producers, "one", "a", "one", 0);
    deliver(&mut producers, "two", "a", "two", 0);
    assert_eq!(keys(&mut producers, 0), "usc.x.one.a usc.x.two.a");
    let object = producers.registrations.get("one").unwrap().clone();
    producers.apply_registration(Event::Delete(("one".to_owned(), object)));
    assert_eq!(keys(&mut producers, 1), "usc.x.two.a");
    producers.apply_crd_event(Event::Delete((UPDATE_INFORMER_CRD.to_owned(), true)));
    assert_eq!(keys(&mut producers, 2), "");
}
