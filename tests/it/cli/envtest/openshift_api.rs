//! The test suite of openshift/api, which starts its control plane with controller-runtime's envtest.
//!
//! It runs if the real programs include its compiled test program `openshift-api-tests`, with the source of
//! the same commit, `openshift-api`, beside it: the suite reads CRDs and tests from there.

use std::process::Command;

use super::TestEnvironment;

/// The CRDs whose tests run: with many rules, rejected statuses, and changes of the CRD in between.
const FOCUS: &str = "Resource=(clusterversions|datagathers|dnsnameresolvers|dnses|osimagestreams)\\]";

#[test]
fn the_openshift_api_suite_runs_with_the_envtest_programs() {
    let Some([program]) = crate::real::programs(["openshift-api-tests"]) else { return };
    let tests = program.with_file_name("openshift-api").join("tests");
    if !tests.is_dir() {
        crate::skipped::skipped("source of openshift/api beside openshift-api-tests");
        return;
    }
    let environment = TestEnvironment::new();
    assert_eq!(environment.run(&["envtest", "assets", "--kubernetes", "1.33"]).code, Some(0));
    let mut command = Command::new(program);
    command
        .arg(format!("--ginkgo.focus={FOCUS}"))
        .args(["--ginkgo.no-color", "--ginkgo.succinct", "--ginkgo.timeout=50m"])
        .env("KUBEBUILDER_ASSETS", environment.work().join("assets"))
        .env("HOME", environment.work())
        .current_dir(tests);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("SUCCESS!") || text.contains("PASS"), "{text}");
}
