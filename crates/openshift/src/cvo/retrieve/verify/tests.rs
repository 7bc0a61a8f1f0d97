//! Tests of signature verification and its errors.

use std::sync::Arc;

use serde_json::json;
use windtunnel_controllers::registry::{Image, Registry};
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Object, Resource, Write};

use super::*;
use crate::cvo::behaviour::Behaviour;

const HOST: &str = "quay.io/openshift-release-dev/ocp-release";
const DIGEST: &str = "sha256:aaaa";
const UNSIGNED: &str = "unable to verify sha256:aaaa against keyrings: verifier-public-key-redhat";

fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

/// The operator of `version` in an environment whose only image is [`DIGEST`].
fn site(version: &str, image: Image, keyrings: &[&str]) -> OperatorContext {
    let registry = Registry { images: BTreeMap::from([(DIGEST.to_owned(), image)]) };
    let keyrings = Some(keyrings.iter().map(|keyring| (*keyring).to_owned()).collect());
    let release = Release::find(&version.parse().unwrap()).unwrap();
    OperatorContext {
        node: "master-0".to_owned(),
        behaviour: Behaviour::for_release(&release),
        environment: Arc::new(Environment { registry, keyrings, ..Environment::default() }),
        names: Streams::new(1).stream("names"),
        stored_image: String::new(),
        trust: Trust::by_facts(),
        verifier: Verifier::new(SignedDuration::from_mins(3), now()),
    }
}

fn with(resource: &Resource, value: Value) -> View {
    let mut view = View::default();
    put(&mut view, resource, value);
    view
}

fn put(view: &mut View, resource: &Resource, value: Value) {
    let object = Object::new(value);
    let key = resource.key(object.namespace(), object.name());
    view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
}

fn config_map(label: &str, data: &Value) -> Value {
    json!({
        "metadata": { "name": "a", "namespace": signature::NAMESPACE, "labels": { (label): "" } },
        "binaryData": data,
    })
}

/// Checks the result for `image`, and after how many seconds it is known.
fn check(site: &OperatorContext, view: &View, image: &str, seconds: i64, expected: Result<(), &str>) {
    let places = SignatureSources::of(site, view);
    let known_at = site.verifier.known_at(image, &places, now());
    let after = known_at.map(|at| at.duration_since(now()).as_secs());
    assert_eq!(after, Some(seconds), "{image}");
    let found = site.verifier.verify(image, &places);
    assert_eq!(found.as_ref().map(|_| ()).map_err(String::as_str), expected, "{image}");
}

fn image() -> String {
    format!("{HOST}@{DIGEST}")
}

#[test]
fn images_that_cannot_be_verified_fail_at_once_with_their_reason() {
    let site = site("4.20.1", Image::default(), &[signature::KEYRING]);
    let view = View::default();
    let tags = Err("release images that are not accessed via digest cannot be verified");
    check(&site, &view, &format!("{HOST}:4.20.3"), 0, tags);
    check(&site, &view, &format!("{HOST}@"), 0, tags);
    let invalid = Err("the provided release image digest has an invalid format: \"sha256:../a\"");
    check(&site, &view, &format!("{HOST}@sha256:../a"), 0, invalid);
}

#[test]
fn without_keyrings_no_image_can_be_verified() {
    let site = site("4.20.1", Image::default(), &[]);
    check(&site, &View::default(), &image(), 0, Err("verification is not possible"));
    check(&site, &View::default(), &format!("{HOST}:v1"), 0, Err("verification is not possible"));
}

#[test]
fn waits_two_minutes_at_most_for_signature_stores() {
    for (openpgp, seconds, expected) in [
        (OpenPgp::Valid, 1, Ok(())),
        (OpenPgp::Missing, 1, Err(UNSIGNED)),
        (OpenPgp::WrongKey, 1, Err(UNSIGNED)),
        (OpenPgp::Unanswered, 120, Err(UNSIGNED)),
    ] {
        let site = site("4.20.1", Image { openpgp, ..Image::default() }, &[signature::KEYRING]);
        check(&site, &View::default(), &image(), seconds, expected);
    }
}

#[test]
fn before_4_12_waits_forever_for_unresponsive_signature_stores() {
    let silent = || Image { openpgp: OpenPgp::Unanswered, ..Image::default() };
    let known_at = |version: &str, view: &View| {
        let site = site(version, silent(), &[signature::KEYRING]);
        site.verifier.known_at(&image(), &SignatureSources::of(&site, view), now())
    };
    assert_eq!(known_at("4.11.1", &View::default()), None);
    assert_eq!(known_at("4.12.1", &View::default()), Some(now() + SignedDuration::from_mins(2)));
    // Signatures in the cluster need no store.
    let good = STANDARD.encode(signature::document(DIGEST, signature::KEYRING));
    let map = with(&CONFIG_MAPS, config_map(signature::LABEL, &json!({ "sha256-aaaa-1": good })));
    assert!(known_at("4.11.1", &map).is_some());
}

#[test]
fn one_of_the_default_stores_is_sufficient_and_other_stores_are_not_queried() {
    for (store, expected) in
        [(signature::STORES[1], Ok(())), ("https://signatures.example.com", Err(UNSIGNED))]
    {
        let image = Image { signature_stores: vec![store.to_owned()], ..Image::default() };
        let site = site("4.20.1", image, &[signature::KEYRING]);
        check(&site, &View::default(), &self::image(), 1, expected);
    }
}

#[test]
fn stores_in_the_spec_replace_the_default_stores_from_4_15_on() {
    let spec = |stores: Value| {
        with(
            &CLUSTER_VERSIONS,
            json!({ "metadata": { "name": "version" }, "spec": { "signatureStores": stores } }),
        )
    };
    let custom = spec(json!([{ "url": "https://signatures.example.com/" }]));
    let there = Image { signature_stores: vec!["https://signatures.example.com".into()], ..Image::default() };
    let keyrings = [signature::KEYRING];
    check(&site("4.15.1", there.clone(), &keyrings), &custom, &image(), 1, Ok(()));
    check(&site("4.14.1", there, &keyrings), &custom, &image(), 1, Err(UNSIGNED));
    check(&site("4.15.1", Image::default(), &keyrings), &custom, &image(), 1, Err(UNSIGNED));
    check(&site("4.15.1", Image::default(), &keyrings), &spec(json!([])), &image(), 0, Err(UNSIGNED));
    check(&site("4.15.1", Image::default(), &keyrings), &spec(Value::Null), &image(), 1, Ok(()));
}

#[test]
fn signatures_in_labelled_config_maps_need_no_store() {
    let nowhere = Image { openpgp: OpenPgp::Unanswered, ..Image::default() };
    let site = site("4.20.1", nowhere, &[signature::KEYRING]);
    let encoded = |keyring: &str| STANDARD.encode(signature::document(DIGEST, keyring));
    let good = encoded(signature::KEYRING);
    for (label, key, value, signed) in [
        (signature::LABEL, "sha256-aaaa-1", good.as_str(), true),
        (signature::LABEL, "sha256-aaaa-7", good.as_str(), true),
        (signature::LABEL, "sha256-bbbb-1", good.as_str(), false),
        (signature::LABEL, "sha256-aaaa-1", encoded("another-key").as_str(), false),
        (signature::LABEL, "sha256-aaaa-1", "no base64", false),
        ("another-label", "sha256-aaaa-1", good.as_str(), false),
    ] {
        let view = with(&CONFIG_MAPS, config_map(label, &json!({ (key): value })));
        let (seconds, expected) = if signed { (0, Ok(())) } else { (120, Err(UNSIGNED)) };
        check(&site, &view, &image(), seconds, expected);
    }
}

#[test]
fn every_keyring_must_have_signed_and_the_error_names_the_others() {
    let site = site("4.20.1", Image::default(), &["z-site", signature::KEYRING, "a-site"]);
    let open = Err("unable to verify sha256:aaaa against keyrings: a-site, z-site");
    check(&site, &View::default(), &image(), 1, open);
    let document = |keyring: &str| STANDARD.encode(signature::document(DIGEST, keyring));
    let data = json!({ "sha256-aaaa-1": document("a-site"), "sha256-aaaa-2": document("z-site") });
    check(&site, &with(&CONFIG_MAPS, config_map(signature::LABEL, &data)), &image(), 1, Ok(()));
}

#[test]
fn valid_signatures_are_cached_and_persisted_for_the_next_process() {
    let mut first = site("4.20.1", Image::default(), &[signature::KEYRING]);
    let at = |minutes: i64| now() + SignedDuration::from_mins(minutes);
    let mut view = View::default();
    assert!(first.verifier.persist(&view, at(0)).is_none(), "nothing to persist yet");
    let good = first.verifier.verify(&image(), &SignatureSources::of(&first, &view)).unwrap();
    first.verifier.remember(good);
    check(&first, &view, &image(), 0, Ok(()));
    assert_eq!(first.verifier.wake_at(), Some(at(6)), "twice the interval");
    assert!(first.verifier.persist(&view, at(5)).is_none());
    let written = first.verifier.persist(&view, at(6));
    assert!(written.as_ref().is_some_and(|write| write.verb() == "create"), "{written:?}");
    first.verifier.not_persisted();
    assert_eq!(first.verifier.wake_at(), Some(at(12)));
    put(&mut view, &CONFIG_MAPS, config_map("another-label", &json!({ "other": "eA==" })));
    let write = first.verifier.persist(&view, at(12)).unwrap();
    let Write { operation: windtunnel_core::Operation::Create(object), .. } = write else {
        panic!("{write:?}")
    };
    put(&mut view, &CONFIG_MAPS, object.clone());
    let missing = Image { openpgp: OpenPgp::Missing, ..Image::default() };
    check(&site("4.20.1", missing, &[signature::KEYRING]), &view, &image(), 0, Ok(()));
}

/// The causes of a failed verification, without their timestamps.
fn causes(version: &str, image: Image, view: &View) -> String {
    let site = site(version, image, &[signature::KEYRING]);
    SignatureSources::of(&site, view).causes(&self::image(), now()).replace("2024-01-01T00:00:00Z: ", "")
}

#[test]
fn causes_list_every_place_that_was_searched() {
    let [google, mirror] = signature::STORES;
    let missing = || Image { openpgp: OpenPgp::Missing, ..Image::default() };
    let map = with(&CONFIG_MAPS, config_map(signature::LABEL, &json!({})));
    let none = "no more signatures to check";
    let retrieve =
        |store: &str| format!("unable to retrieve signature from {store}/sha256=aaaa/signature-1: {none}");
    let under = |store: &str| format!("containers/image signature store under {store}");
    let parallel = format!("parallel signature store wrapping {}, {}", under(google), under(mirror));
    let fallback = format!(
        "serial signature store wrapping ClusterVersion signatureStores unset, falling back to default stores, {parallel}"
    );
    let outer = format!(
        "serial signature store wrapping config maps in openshift-config-managed with label \"{}\"",
        signature::LABEL
    );
    let maps = format!("prefix sha256-aaaa in config map a: {none}");
    let stores = format!("{}, {}", retrieve(google), retrieve(mirror));
    assert_eq!(
        causes("4.20.1", missing(), &map),
        format!("[{maps}, {stores}, {parallel}: {none}, {fallback}: {none}, {outer}, {fallback}: {none}]")
    );
    assert_eq!(
        causes("4.14.1", missing(), &View::default()),
        format!("[{stores}, {parallel}: {none}, {outer}, {parallel}: {none}]"),
        "before 4.15 spec has no stores"
    );
    let wrong = causes("4.14.1", Image { openpgp: OpenPgp::WrongKey, ..Image::default() }, &View::default());
    assert!(wrong.contains("/sha256=aaaa/signature-2: no more"), "{wrong}");
    let silent =
        causes("4.14.1", Image { openpgp: OpenPgp::Unanswered, ..Image::default() }, &View::default());
    assert!(silent.contains("/sha256=aaaa/signature-1: context deadline exceeded, "), "{silent}");
}

#[test]
fn an_empty_list_of_stores_is_a_cause() {
    let spec = json!({ "metadata": { "name": "version" }, "spec": { "signatureStores": [] } });
    let view = with(&CLUSTER_VERSIONS, spec);
    assert_eq!(
        causes("4.20.1", Image::default(), &view),
        "[ClusterVersion spec.signatureStores is an empty array. Unset signatureStores entirely if you want to enable the default signature stores]"
    );
    let site = site("4.20.1", Image::default(), &[signature::KEYRING]);
    assert_eq!(
        SignatureSources::of(&site, &view).causes("quay.io/a:tag", now()),
        "",
        "the operator searched for no signature"
    );
}

#[test]
fn the_keyrings_and_stores_are_those_of_the_running_payload() {
    let config_map = |name: &str, included: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    include.release.openshift.io/self-managed-high-availability: '{included}'\n    release.openshift.io/verification-config-map: ''\ndata: {data}\n"
        )
    };
    let other = "{verifier-public-key-b: k, verifier-public-key-a: k, store-b: ' https://b.example.com/ '}";
    let default = "{verifier-public-key-redhat: k, store-a: 'https://a.example.com'}";
    let trust = |manifests: &[String]| {
        let metadata = r#"{"kind": "cincinnati-metadata-v0", "version": "4.18.9"}"#;
        let images = r#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "4.18.9"}}"#;
        let mut files = vec![("release-metadata".to_owned(), metadata.to_owned())];
        files.push(("image-references".to_owned(), images.to_owned()));
        files.push((
            "0000_00_a_0.yaml".to_owned(),
            "{apiVersion: v1, kind: Namespace, metadata: {name: a}}".to_owned(),
        ));
        files.extend(
            manifests.iter().enumerate().map(|(at, text)| (format!("0000_90_a_{at}.yaml"), text.clone())),
        );
        let payload = crate::payload::Payload::parse(files, "quay.io/r@sha256:1").unwrap();
        Trust::of(&Release::with_payload(&"4.18.9".parse().unwrap(), Arc::new(payload)), None)
    };
    let first = [config_map("excluded", "false", default), config_map("first", "true", other)];
    let mut site = site("4.18.9", Image::default(), &[]);
    Arc::make_mut(&mut site.environment).keyrings = None;
    for (trust, can_verify, error) in [
        (trust(&[]), false, "verification is not possible"),
        (
            trust(&[first.as_slice(), &[config_map("second", "true", default)]].concat()),
            true,
            "unable to verify sha256:aaaa against keyrings: verifier-public-key-a, verifier-public-key-b",
        ),
        (
            trust(&[config_map("stores", "true", default)]),
            true,
            // The registry's signatures are in Red Hat's stores only.
            UNSIGNED,
        ),
    ] {
        site.trust = trust;
        assert_eq!(site.can_verify(), can_verify);
        let view = View::default();
        let found = site.verifier.verify(&image(), &SignatureSources::of(&site, &view));
        assert_eq!(found.unwrap_err(), error);
    }
}
