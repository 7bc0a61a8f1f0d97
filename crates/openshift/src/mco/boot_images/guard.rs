//! The limit on the age of boot images (`checkBootImageSkewUpgradeableGuard`).

use serde_json::Value;
use windtunnel_core::condition;
use windtunnel_core::{Object, View, cluster_version};

use super::key;

/// The oldest boot images that a release supports, as OpenShift version and as version of the operating system.
const LIMITS: (&str, &str) = ("4.13.0", "9.2");

/// Why the boot images block updates. `None` if they do not, or if nothing is known yet.
pub(in crate::mco) fn objection(view: &View) -> Option<String> {
    let object = view.get_key(&key())?;
    let status = &object["status"]["bootImageSkewEnforcementStatus"];
    let recorded = match status["mode"].as_str()? {
        "Automatic" => {
            if let Some(failure) = failure(object) {
                return Some(format!(
                    "Upgrades have been disabled due to boot image update failures: boot image controller is degraded: {failure}"
                ));
            }
            // Until the controller's first pass has ended, its record says nothing.
            condition::find_in_status(object, "BootImageUpdateProgressing")
                .filter(|found| found["status"] != "True")?;
            &status["automatic"]
        }
        "Manual" => &status["manual"],
        _ => return None,
    };
    let old = too_old(recorded)?;
    Some(format!(
        "Upgrades have been disabled because {old}. To enable upgrades, please update your boot images or disable boot image skew enforcement by following the documentation at https://docs.redhat.com/en/documentation/openshift_container_platform/{}/html/machine_configuration/mco-update-boot-skew-mgmt",
        documented_minor(view)
    ))
}

/// The failure of the boot image controller.
fn failure(object: &Object) -> Option<&str> {
    let degraded = condition::find_in_status(object, "BootImageUpdateDegraded")?;
    degraded["message"].as_str().filter(|_| degraded["status"] == "True")
}

/// The minor whose documentation applies: `4.22`, or `latest`.
fn documented_minor(view: &View) -> String {
    let cluster_version = view.cluster_version();
    let version = cluster_version.map_or("", |object| cluster_version::desired_version(object));
    let mut parts = version.splitn(3, '.');
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => "latest".to_owned(),
    }
}

/// Which limit a recorded boot image is below. A version that cannot be parsed is below none.
fn too_old(recorded: &Value) -> Option<String> {
    let (version, what, compared, limit) =
        match (recorded["ocpVersion"].as_str(), recorded["rhcosVersion"].as_str()) {
            (Some(version), _) => (version, "OCP", version.to_owned(), LIMITS.0),
            (None, Some(version)) => (version, "RHCOS", os_minor(version)?, LIMITS.1),
            (None, None) => return None,
        };
    (numbers(&compared)? < numbers(limit)?).then(|| {
        format!(
            "the cluster is using {what} boot image version {version}, which is below the minimum required version {limit}"
        )
    })
}

/// The minor of the operating system: `9.6` in `9.6.20251023-0`, and `8.4` in the older form
/// `48.84.202208021106-0`.
fn os_minor(version: &str) -> Option<String> {
    let [major, minor, rest] = version.splitn(3, '.').collect::<Vec<_>>()[..] else { return None };
    let stamp = rest.split(['-', '.']).next().unwrap_or_default();
    match (stamp.len(), minor.split_at_checked(1)) {
        (8, _) => Some(format!("{major}.{minor}")),
        (12, Some((major, minor))) if !minor.is_empty() => Some(format!("{major}.{minor}")),
        _ => None,
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}
