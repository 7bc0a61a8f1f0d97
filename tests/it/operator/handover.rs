//! A scenario in which the operator hands over to another release and back: with the simulated operator, and with the real one
//! as a program in the pods of the cluster.

use std::fs;
use std::path::Path;

use crate::cli::environment::TestEnvironment;
use crate::real::programs;
use crate::recordings::ours;

/// The releases of the scenario.
const VERSIONS: [&str; 2] = ["4.18.1", "4.18.6"];

/// A folder with the payloads of both releases, which differ in their versions alone.
fn payloads() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/update/payload-4.18.6");
    let key = fs::read_to_string(ours("operator/signatures/key.asc")).unwrap();
    let key = format!("redhat: |\n    {}", key.replace('\n', "\n    ").trim_end());
    for version in VERSIONS {
        for entry in fs::read_dir(&source).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap().replace("4.18.6", version);
            let text = text.replace("redhat: the key of the release team", &key);
            environment.write(&format!("{version}/{}", path.file_name().unwrap().display()), text);
        }
    }
    environment.write("operator/operator.yaml", file("operator.yaml"));
    environment
}

fn file(name: &str) -> String {
    fs::read_to_string(ours(&format!("operator/handover/{name}"))).unwrap()
}

fn check(environment: &TestEnvironment, scenario: &str) {
    environment.write("scenario.yaml", scenario);
    let output = environment.run(&["run", "scenario.yaml", "--allow-programs"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn the_simulated_operator_refuses_a_bad_digest_updates_and_rolls_back() {
    check(&payloads(), &file("scenario.yaml"));
}

/// The same, in about a minute.
#[test]
fn the_real_operator_refuses_a_bad_digest_updates_and_rolls_back() {
    let Some([operator]) = programs(["cluster-version-operator"]) else { return };
    let programs =
        file("programs.yaml").replace("[cluster-version-operator,", &format!("[{},", operator.display()));
    check(&payloads(), &(file("scenario.yaml") + &programs));
}
