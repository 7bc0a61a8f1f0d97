//! Tests of retrievals that get no answer or fail.

use serde_json::json;
use windtunnel_controllers::registry::{Image, OpenPgp};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Operation, Rejection};

use super::*;
use crate::release::Release;
use crate::signature;

const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:aaaa";

fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

/// A forced retrieval by the operator of `version`. No registry has the image.
fn begun(version: &str, view: &View) -> (OperatorContext, Retrieval) {
    let release = Release::find(&version.parse().unwrap()).unwrap();
    let site = OperatorContext {
        node: "master-0".to_owned(),
        behaviour: Behaviour::for_release(&release),
        environment: Arc::new(Environment::default()),
        names: Streams::new(1).stream("names"),
        stored_image: String::new(),
        trust: Trust::by_facts(),
        verifier: Verifier::new(SignedDuration::from_mins(3), now()),
    };
    let target = Target { version: String::new(), image: IMAGE.to_owned(), force: true, generation: 2 };
    let retrieval = Retrieval::new(target, &site, view, now());
    (site, retrieval)
}

fn left_behind(names: &[&str], phase: &str) -> View {
    let mut view = View::default();
    for &name in names {
        let labels = json!({ "k8s-app": version_pod::LABEL });
        let object = Object::new(json!({
            "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels },
            "spec": { "nodeName": "master-0", "containers": [{ "image": IMAGE }] },
            "status": { "phase": phase },
        }));
        let key = PODS.key(NAMESPACE, name);
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
    }
    view
}

/// Answers all writes: creations succeed, deletions fail with `rejections` in turn.
fn answer(retrieval: &mut Retrieval, by: By, out: &mut Outbox, rejections: &[(u16, &str)], now: Time) {
    let mut rejections = rejections.iter();
    for write in out.take() {
        let purpose = out.answered();
        let outcome = match (write.operation.clone(), rejections.next()) {
            (Operation::Create(object), _) => Ok(Object::new(object)),
            (_, Some((code, message))) => Err(Rejection {
                code: *code,
                reason: String::new(),
                message: (*message).to_owned(),
                details: serde_json::Value::Null,
            }),
            (_, None) => Ok(Object::new(json!({}))),
        };
        let answer = Answer { write, outcome };
        match purpose {
            Some(Purpose::Prune) => retrieval.pruned(by, &answer),
            _ => retrieval.created(&answer, now),
        }
    }
}

/// The seconds until the retrieval fails, and its error. `None` if it takes longer than an hour.
fn end(version: &str, view: &View, rejections: &[(u16, &str)]) -> Option<(i64, String)> {
    let (mut site, mut retrieval) = begun(version, view);
    let by = site.behaviour.retrieval;
    let mut out = Outbox::default();
    let mut at = retrieval.wake_at()?;
    while at.duration_since(now()) <= SignedDuration::from_hours(1) {
        if let Some(outcome) = retrieval.run(&mut site, view, at, &mut out) {
            return Some((at.duration_since(now()).as_secs(), outcome.unwrap_err().text));
        }
        if out.awaits(Purpose::Prune) || out.awaits(Purpose::Retrieve) {
            answer(&mut retrieval, by, &mut out, rejections, at);
        } else {
            at = retrieval.wake_at()?;
        }
    }
    None
}

fn ends(version: &str, view: &View, rejections: &[(u16, &str)]) -> (i64, String) {
    end(version, view, rejections).unwrap()
}

#[test]
fn a_retrieval_without_any_reaction_times_out_after_four_minutes() {
    let text = "Unable to download and prepare the update: fetching update payload: timed out waiting for the condition";
    assert_eq!(ends("4.20.1", &View::default(), &[]), (240, text.to_owned()));
    let text = "Unable to download and prepare the update: timed out waiting for the condition";
    assert_eq!(ends("4.18.1", &View::default(), &[]), (240, text.to_owned()));
    assert_eq!(ends("4.12.1", &View::default(), &[]), (240, text.to_owned()));
    assert_eq!(end("4.11.1", &View::default(), &[]), None, "no time limit before 4.12");
}

#[test]
fn a_failed_deletion_of_earlier_pods_ends_the_retrieval() {
    let prefix = "Unable to download and prepare the update: failed to prune pods: error deleting pods: ";
    let a = "failed to delete pod version--aaaaa: a";
    assert_eq!(
        ends("4.20.1", &left_behind(&["version--aaaaa"], ""), &[(403, "a")]),
        (1, format!("{prefix}{a}"))
    );
    let both = left_behind(&["version--aaaaa", "version--bbbbb"], "");
    let two = ends("4.20.1", &both, &[(403, "a"), (500, "b")]);
    assert_eq!(two, (1, format!("{prefix}[{a}, failed to delete pod version--bbbbb: b]")));
}

#[test]
fn finds_the_payload_of_an_earlier_process_on_the_same_node() {
    let view = left_behind(&["version--aaaaa"], "Succeeded");
    let has_payload = |node: &str| {
        let (mut site, _) = begun("4.20.1", &view);
        node.clone_into(&mut site.node);
        site.find_stored_payload(&view);
        site.holds(IMAGE)
    };
    // No registry has the image any more, but it is on the disk of this node.
    assert_eq!((has_payload("master-0"), has_payload("master-1")), (true, false));
}

#[test]
fn rejects_a_retrieved_image_that_is_no_payload() {
    let (mut site, _) = begun("4.20.1", &View::default());
    let mut environment = Environment::default();
    let image = Image { contents: Contents::NoImageReferences, ..Image::default() };
    environment.registry.images.insert("sha256:aaaa".to_owned(), image);
    site.environment = Arc::new(environment);
    IMAGE.clone_into(&mut site.stored_image);
    let place = version_pod::payload_path(IMAGE);
    let missing = format!("stat {place}/release-manifests/image-references: no such file or directory");
    let expected = format!(
        "Unable to download and prepare the update: confirming the presence of release-image content in \"{place}\": {missing}"
    );
    assert_eq!(site.confirm(IMAGE), Err(expected));
    assert!(!site.holds(IMAGE), "the operator fetches it again");
    site.behaviour.retrieval = By::Job;
    assert_eq!(site.confirm(IMAGE), Err(format!("Unable to download and prepare the update: {missing}")));
}

#[test]
fn a_payload_on_the_disk_needs_no_pod() {
    let view = View::default();
    let (mut site, mut retrieval) = begun("4.20.1", &view);
    IMAGE.clone_into(&mut site.stored_image);
    let mut out = Outbox::default();
    let at = retrieval.wake_at().unwrap();
    let outcome = retrieval.run(&mut site, &view, at, &mut out);
    assert!(outcome.is_some_and(|outcome| outcome.is_ok_and(|retrieved| !retrieved.verified)));
    assert!(out.take().is_empty());
}

#[test]
fn before_4_12_only_force_stops_the_wait_for_unresponsive_signature_stores() {
    let image = Image { openpgp: OpenPgp::Unanswered, ..Image::default() };
    let mut environment =
        Environment { keyrings: Some(vec![signature::KEYRING.to_owned()]), ..Environment::default() };
    environment.registry.images.insert("sha256:aaaa".to_owned(), image);
    let (mut site, forced) = begun("4.11.1", &View::default());
    site.environment = Arc::new(environment);
    let verified_at = |force| {
        let target = Target { force, ..forced.target.clone() };
        Retrieval::new(target, &site, &View::default(), now()).wake_at()
    };
    assert_eq!(verified_at(false), None);
    assert_eq!(verified_at(true), Some(now() + SignedDuration::from_mins(2)));
}
