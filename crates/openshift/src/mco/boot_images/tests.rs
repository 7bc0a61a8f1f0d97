//! Tests of the mode, the record and the limit of boot images.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_VERSIONS, CONTROLLER_CONFIGS, CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES,
    MACHINE_CONFIGURATIONS,
};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View};

use super::{DEFINITION, configuration, controller, guard};
use crate::mco::{CONTROLLER_CONFIG, RELEASE_VERSION};

fn put(view: &mut View, resource: &Resource, object: Value) {
    let (key, object) = (resource.key_of(&object), Object::new(object));
    view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
}

/// A cluster that was installed with 4.12.3.
fn cluster(platform: &str, topology: &str) -> View {
    let mut view = View::default();
    let annotations = json!({ (RELEASE_VERSION): "4.22.1" });
    put(
        &mut view,
        &CONTROLLER_CONFIGS,
        json!({ "metadata": { "name": CONTROLLER_CONFIG, "annotations": annotations } }),
    );
    put(&mut view, &CUSTOM_RESOURCE_DEFINITIONS, json!({ "metadata": { "name": DEFINITION } }));
    let status = json!({ "platformStatus": { "type": platform }, "controlPlaneTopology": topology });
    put(&mut view, &INFRASTRUCTURES, json!({ "metadata": { "name": "cluster" }, "status": status }));
    let history = json!([
        { "state": "Partial", "version": "4.22.1" },
        { "state": "Completed", "version": "4.21.9" },
        { "state": "Completed", "version": "4.12.3" },
        { "state": "Partial", "version": "4.12.0" },
    ]);
    let status = json!({ "desired": { "version": "4.22.1" }, "history": history });
    put(&mut view, &CLUSTER_VERSIONS, json!({ "metadata": { "name": "version" }, "status": status }));
    view
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
fn machine_configuration(spec: Value, status: Value) -> Object {
    Object::new(json!({ "metadata": { "name": "cluster", "generation": 1 }, "spec": spec, "status": status }))
}

fn skew(view: &View, spec: Value, status: Value) -> Value {
    configuration::status(&machine_configuration(spec, status), view)["bootImageSkewEnforcementStatus"]
        .clone()
}

#[test]
fn the_mode_depends_on_the_spec_the_platform_and_the_opt_out() {
    let manual = json!({ "mode": "Manual", "manual": { "mode": "OCPVersion", "ocpVersion": "4.12.3" } });
    let automatic = json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.12.3" } });
    let none = json!({ "mode": "None" });
    let by_default =
        |platform: &str, topology: &str| skew(&cluster(platform, topology), json!({}), Value::Null);
    assert_eq!(by_default("AWS", "HighlyAvailable"), automatic);
    assert_eq!(by_default("None", "HighlyAvailable"), manual);
    assert_eq!(by_default("BareMetal", "HighlyAvailable"), none);
    assert_eq!(by_default("AWS", "SingleReplica"), none);
    let aws = cluster("AWS", "HighlyAvailable");
    assert_eq!(skew(&aws, json!({ "managedBootImages": { "machineManagers": [] } }), Value::Null), manual);
    assert_eq!(skew(&aws, json!({ "bootImageSkewEnforcement": { "mode": "None" } }), Value::Null), none);
    let chosen =
        json!({ "mode": "Manual", "manual": { "mode": "RHCOSVersion", "rhcosVersion": "9.4.20240101-0" } });
    assert_eq!(skew(&aws, json!({ "bootImageSkewEnforcement": chosen }), Value::Null), chosen);
    let recorded = json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.22.1" } });
    let kept = skew(&aws, json!({}), json!({ "bootImageSkewEnforcementStatus": recorded }));
    assert_eq!(kept, recorded, "the controller's record stays");
}

#[test]
fn the_controller_records_its_release_in_automatic_mode_only() {
    let recorded = |mode: Value| {
        let object = machine_configuration(json!({}), json!({ "bootImageSkewEnforcementStatus": mode }));
        controller::status(&object, &"4.22.1-rc.0".parse().unwrap(), Time::UNIX_EPOCH)
    };
    let automatic = recorded(json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.12.3" } }));
    assert_eq!(automatic["bootImageSkewEnforcementStatus"]["automatic"], json!({ "ocpVersion": "4.22.1" }));
    assert_eq!(automatic["conditions"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        recorded(json!({ "mode": "None" }))["bootImageSkewEnforcementStatus"],
        json!({ "mode": "None" })
    );
}

/// The objection to this status, without its advice.
#[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
fn objection(status: Value) -> String {
    let mut view = cluster("AWS", "HighlyAvailable");
    let object = json!({ "metadata": { "name": "cluster" }, "spec": {}, "status": status });
    put(&mut view, &MACHINE_CONFIGURATIONS, object);
    let text = guard::objection(&view).unwrap_or_default();
    text.split(". To enable").next().unwrap_or_default().to_owned()
}

fn manual(field: &str, version: &str) -> Value {
    json!({ "bootImageSkewEnforcementStatus": { "mode": "Manual", "manual": { field: version } } })
}

#[test]
fn boot_images_below_the_limit_block_updates() {
    let below = |what: &str, version: &str, limit: &str| {
        format!(
            "Upgrades have been disabled because the cluster is using {what} boot image version {version}, which is below the minimum required version {limit}"
        )
    };
    assert_eq!(objection(manual("ocpVersion", "4.12.9")), below("OCP", "4.12.9", "4.13.0"));
    assert_eq!(objection(manual("ocpVersion", "4.13.0")), "");
    for (version, is_old) in [
        ("9.2.20251023-0", false),
        ("9.0.20251023-0", true),
        ("413.92.202305021736-0", false),
        ("48.84.202208021106-0", true),
        ("48.8.202208021106-0", false),
        ("9.0.2025-0", false),
    ] {
        let expected = if is_old { below("RHCOS", version, "9.2") } else { String::new() };
        assert_eq!(objection(manual("rhcosVersion", version)), expected, "{version}");
    }
    assert_eq!(objection(json!({ "bootImageSkewEnforcementStatus": { "mode": "None" } })), "");
    assert_eq!(objection(json!({})), "");
}

#[test]
fn an_automatic_record_counts_once_the_controller_is_done() {
    let automatic = |conditions: Value| {
        let skew = json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.12.3" } });
        objection(json!({ "bootImageSkewEnforcementStatus": skew, "conditions": conditions }))
    };
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "message": "m" });
    assert_eq!(automatic(json!([])), "");
    assert_eq!(automatic(json!([condition("BootImageUpdateProgressing", "True")])), "");
    assert!(automatic(json!([condition("BootImageUpdateProgressing", "False")])).contains("version 4.12.3,"));
    assert_eq!(
        automatic(json!([condition("BootImageUpdateDegraded", "True")])),
        "Upgrades have been disabled due to boot image update failures: boot image controller is degraded: m"
    );
}
