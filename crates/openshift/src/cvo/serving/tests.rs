//! Tests of certificate reloads.

use serde_json::json;
use windtunnel_core::rng::Streams;
use windtunnel_core::{ChangeKind, Object};

use super::*;

fn change(signer: &str) -> Change {
    let certificate =
        Certificate { subject: "a".to_owned(), key: "b".to_owned(), signed_by: signer.to_owned() };
    let object = Object::new(json!({ "data": certificate.secret_data() }));
    Change { key: Serving::secret(), kind: ChangeKind::Added, object, old: None }
}

fn lines(counters: &[Counter]) -> Vec<String> {
    counters.iter().map(|counter| format!("{}={}", counter.labels["signer"], counter.count)).collect()
}

#[test]
fn loads_the_certificate_at_startup_and_reloads_it_some_time_after_a_change() {
    let mut now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let mut view = View::default();
    view.apply(&change("a"));
    let mut serving = Serving::starting(Streams::new(1).stream("test"), now);
    assert_eq!(lines(&serving.reload_if_due(&view, now)), ["a=1"]);
    assert_eq!(serving.wake_at(), None);

    view.apply(&change("b"));
    serving.notice(&change("b"), now);
    let at = serving.wake_at().unwrap();
    assert!(at >= now + SignedDuration::from_secs(30) && at <= now + SignedDuration::from_secs(90));
    assert!(serving.reload_if_due(&view, now).is_empty());
    now = at;
    assert_eq!(lines(&serving.reload_if_due(&view, now)), ["a=0", "b=1"]);

    // A deleted Secret or one that is rewritten without a change does not change the certificate.
    for view in [&View::default(), &view] {
        serving.notice(&change("b"), now);
        now = serving.wake_at().unwrap();
        assert!(serving.reload_if_due(view, now).is_empty());
    }
}
