//! The clock of a server as its HTTPS clients see it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use kube::api::{Api, PostParams};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::Value;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::https::{self, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, ManualClock, ScaledClock, Time, WallClock};

use super::https::{admin, ask, client, config_map, run};

/// A time long before the present.
fn long_ago() -> Time {
    "2001-02-03T04:05:06.7Z".parse().unwrap()
}

fn stopped() -> Shared {
    Shared::new(ApiServer::builder().build(long_ago()), ManualClock::at(long_ago()))
}

#[test]
fn every_response_has_the_time_of_the_server() {
    run(async {
        let serving = https::serve(stopped(), Settings::default()).await.unwrap();
        let client = admin(&serving).await;
        for path in ["/version", "/api/v1/namespaces?watch=true", "/nothing", "/api/v1/pods?timeout=soon"] {
            let request = http::Request::get(path).body(Vec::new().into()).unwrap();
            let answer = client.send(request).await.unwrap();
            assert_eq!(answer.headers()["date"], "Sat, 03 Feb 2001 04:05:06 GMT", "{path}");
            assert_eq!(answer.headers()["x-windtunnel-speed"], "0", "{path}");
        }
        let wall = Shared::new(ApiServer::builder().build(WallClock.now()), Arc::new(WallClock));
        let serving = https::serve(wall, Settings::default()).await.unwrap();
        let answer = ask(&admin(&serving).await, http::Request::get("/version"), Vec::new()).await;
        assert!(!answer.headers().contains_key("x-windtunnel-speed"), "a wall clock has no speed");
    });
}

/// A CA whose certificates are valid from 2020 on, and a client certificate of `system:masters` with its key;
/// all as PEM.
fn certificates() -> (String, [String; 2]) {
    let valid = |mut params: CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params
    };
    let mut params = valid(CertificateParams::default());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = valid(CertificateParams::default());
    params.distinguished_name.push(DnType::CommonName, "jane");
    params.distinguished_name.push(DnType::OrganizationName, "system:masters");
    let client_key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&client_key, &issuer).unwrap();
    (authority, [certificate.pem(), client_key.serialize_pem()])
}

#[test]
fn client_certificates_are_validated_by_the_clock_of_the_machine() {
    run(async {
        let (authority, [certificate, key]) = certificates();
        let settings = Settings { client_authorities: Some(authority), ..Settings::default() };
        let serving = https::serve(stopped(), settings).await.unwrap();
        let jane = client(&serving, |auth| {
            auth.token = None;
            auth.client_certificate_data = Some(STANDARD.encode(certificate));
            auth.client_key_data = Some(STANDARD.encode(key).into());
        });
        let answer = ask(&jane.await, http::Request::get("/api/v1/namespaces"), Vec::new()).await;
        assert_eq!(answer.status(), 200);
    });
}

#[test]
fn a_fast_clock_does_not_shorten_a_watch() {
    run(async {
        let start = WallClock.now();
        // Ten minutes pass in less than a tenth of a millisecond.
        let clock = ScaledClock::starting_at(start, 1e7);
        let shared = Shared::new(ApiServer::builder().build(start), Arc::new(clock));
        let serving = https::serve(shared, Settings::default()).await.unwrap();
        let client = admin(&serving).await;
        let path = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=600";
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let mut lines = Box::pin(client.request_stream(request).await.unwrap().lines());
        let maps: Api<_> = Api::default_namespaced(client);
        for name in ["a", "b", "c"] {
            maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
            let line = lines.try_next().await.unwrap().expect("the watch ended");
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["object"]["metadata"]["name"], name);
        }
        serving.stop().await;
    });
}
