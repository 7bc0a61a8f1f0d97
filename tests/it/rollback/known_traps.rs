//! The page of all of OpenShift's releases, held against the program.

use std::fs;
use std::path::Path;

use crate::cli::environment::TestEnvironment;
use crate::recordings::shared_or_skip;

/// Update the page with
/// `windtunnel rollback-check --series ../shared/openshift-api-crds --format markdown > docs/rollback-traps.md`.
#[test]
fn the_page_of_rollback_traps_is_what_the_program_prints() {
    let Some(folder) = shared_or_skip("openshift-api-crds") else { return };
    let folder = folder.canonicalize().unwrap().display().to_string();
    let output = TestEnvironment::new().run(&["rollback-check", "--series", &folder, "--format", "markdown"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rollback-traps.md");
    let page = fs::read_to_string(page).unwrap();
    let differs = page.lines().zip(output.stdout.lines()).find(|(page, printed)| page != printed);
    assert_eq!(differs, None);
    assert_eq!(page.lines().count(), output.stdout.lines().count());
}

#[test]
fn the_traps_that_openshift_met_are_in_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rollback-traps.md");
    let page = fs::read_to_string(page).unwrap();
    for (release, row) in [
        (
            "4.14",
            "| status | ClusterVersion | `status.capabilities.enabledCapabilities[]` | enum values \"MachineAPI\", \"Build\", \"DeploymentConfig\", \"ImageRegistry\" | cluster-version-operator | 1.31 |",
        ),
        (
            "4.17",
            "| status | Infrastructure | `status.platformStatus.ibmcloud.serviceEndpoints[].name` | enum values \"COSConfig\", \"GlobalCatalog\"",
        ),
        ("4.20", "| again | Authentication | `spec.type` | enum values \"OIDC\""),
        (
            "4.20",
            "| again | Infrastructure | `status.controlPlaneTopology` | enum values \"HighlyAvailableArbiter\"",
        ),
        (
            "4.20",
            "| again | Infrastructure | `spec.platformSpec.vsphere.failureDomains[].topology.networks` | maxItems 10, target 1 |",
        ),
        ("4.22", "| again | Infrastructure | `status.controlPlaneTopology` | enum values \"DualReplica\""),
    ] {
        let start = format!("## Rollback from {release} to ");
        let section = page.split(&start).nth(1).unwrap_or_else(|| panic!("no section of {release}"));
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains(row), "{row} is not in the section of {release}");
    }
}
