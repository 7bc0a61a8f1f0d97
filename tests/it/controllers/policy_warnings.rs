//! The warnings about types in policies, compared with those of a real kube-controller-manager 1.36.

use std::fs;
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::api::Api;
use regex::Regex;
use serde_json::Value;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::policy_status::PolicyStatusController;
use windtunnel_controllers::runner;
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_ADMISSION_POLICIES};
use windtunnel_core::{Identity, Resource, Write};

use super::pass;
use crate::recordings::ours;

const START: &str = "2024-01-01T00:00:00Z";

fn put(server: &Shared, resource: &Resource, object: &Value) {
    let write = Write::create(resource, object.clone());
    server.write(&write, &Identity::admin(), START.parse().unwrap()).unwrap();
}

/// A recorded status without the numbers that the real controller appends to the names of types, which are a time.
fn without_numbers(status: &Value) -> Value {
    let number = Regex::new(r"([A-Z][A-Za-z]+)\d{4,}\b").unwrap();
    serde_json::from_str(&number.replace_all(&status.to_string(), "$1")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn policies_get_the_warnings_of_a_real_controller() {
    let now: Time = START.parse().unwrap();
    let server = Shared::new(ApiServer::builder().kubernetes(36).build(now), VirtualClock::starting_at(now));
    let controller = PolicyStatusController::new(Arc::new(server.clone()));
    tokio::spawn(runner::run(server.clone(), vec![Box::new(controller)]));
    let recording: Value =
        serde_json::from_slice(&fs::read(ours("controllers/policy-warnings.json")).unwrap()).unwrap();
    put(&server, &CUSTOM_RESOURCE_DEFINITIONS, &recording["definition"]);
    let recorded = recording["policies"].as_array().unwrap();
    for case in recorded {
        put(&server, &VALIDATING_ADMISSION_POLICIES, &case["policy"]);
    }
    pass(1).await;
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(server.client(&Identity::admin()));
    for case in recorded {
        let name = case["policy"]["metadata"]["name"].as_str().unwrap();
        let status = serde_json::to_value(policies.get(name).await.unwrap().status).unwrap();
        assert_eq!(status, without_numbers(&case["status"]), "{name}");
    }
}
