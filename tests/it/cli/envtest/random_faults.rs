//! `windtunnel envtest --perturb`: clients get faults, and a list says what was done to whom.

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::super::environment::TestEnvironment;
use super::super::serve::run;
use super::ControlPlane;

/// Updates a ConfigMap this often. Returns the numbers of the updates that got a conflict.
async fn conflicts(plane: &ControlPlane, updates: usize) -> Vec<usize> {
    let maps: Api<ConfigMap> = Api::default_namespaced(plane.admin().await);
    let map = json!({ "metadata": { "name": "a" } });
    let mut map = maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    let mut conflicts = Vec::new();
    for number in 0..updates {
        map.data = Some([("k".to_owned(), number.to_string())].into());
        match maps.replace("a", &PostParams::default(), &map).await {
            Ok(stored) => map = stored,
            Err(kube::Error::Api(status)) if status.code == 409 => {
                assert!(status.message.contains("the object has been modified"), "{status:?}");
                conflicts.push(number);
            }
            Err(error) => panic!("{error}"),
        }
    }
    // An update without a version cannot conflict.
    map.metadata.resource_version = None;
    for _ in 0..updates {
        maps.replace("a", &PostParams::default(), &map).await.unwrap();
    }
    conflicts
}

#[test]
fn the_same_seed_gives_a_client_the_same_conflicts() {
    let mut seen = Vec::new();
    for folder in ["first", "second"] {
        let environment = TestEnvironment::new();
        let arguments = ["envtest", "assets", "--perturb", "conflict,410,seed=3,rate=20%,kind=ConfigMap"];
        assert_eq!(environment.run(&arguments).code, Some(0));
        let plane = ControlPlane::start(&environment, folder);
        let found = run(async { conflicts(&plane, 40).await });
        assert!(!found.is_empty() && found.windows(2).all(|pair| pair[1] - pair[0] > 2), "{found:?}");
        assert_eq!(plane.apiserver.end().0, Some(0));
        let logs = environment.files();
        let log =
            logs.iter().find(|file| Path::new(file).extension().is_some_and(|name| name == "log")).unwrap();
        let lines = environment.read(log);
        assert_eq!(lines.lines().count(), found.len(), "{lines}");
        assert!(
            lines.lines().all(|line| line.contains(" conflict: update ConfigMap default/a by ")),
            "{lines}"
        );
        seen.push(found);
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_log_that_cannot_be_written_stops_the_command_before_it_starts() {
    let environment = TestEnvironment::new();
    let arguments = ["envtest", "--perturb", "stale,seed=7", "--fault-log", "absent/log", "--"];
    let output = environment.run(&[&arguments[..], &["/bin/sh", "-c", "echo started; exit 3"]].concat());
    let expected = "error: absent/log: cannot be written: there is no folder absent; create it first\n";
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (Some(2), "", expected));
}

#[test]
fn a_lost_log_changes_neither_the_exit_code_nor_the_report() {
    let environment = TestEnvironment::with(&[("logs/other", "")]);
    let arguments = ["envtest", "--perturb", "stale,seed=7", "--fault-log", "logs/log", "--"];
    let output = environment.run(&[&arguments[..], &["/bin/rm", "-r", "logs", "missing"]].concat());
    assert_eq!(output.code, Some(1), "{output}");
    let expected = "warning: logs/log: cannot be written: there is no folder logs; create it first\n\
                    windtunnel: the command failed with seed 7 and 0 faults; no client had a fault, so the failure has \
                    another cause\n\
                    repeat: windtunnel envtest --perturb stale,seed=7 -- /bin/rm -r logs missing\n";
    assert!(output.stderr.ends_with(expected), "{output}");
}

#[test]
fn a_failure_names_the_seed_and_how_to_repeat_it() {
    let environment = TestEnvironment::new();
    let output =
        environment.run(&["envtest", "--perturb", "stale,conflict,seed=7", "--", "/bin/sh", "-c", "exit 1"]);
    assert_eq!(output.code, Some(1));
    let lines: Vec<&str> = output.stderr.lines().collect();
    let [first, .., log, repeat] = &lines[..] else { panic!("{output}") };
    assert_eq!(
        *first,
        "windtunnel: the command failed with seed 7 and 0 faults; no client had a fault, so the failure has another cause"
    );
    assert!(log.starts_with("all faults: ") && log.trim_end().ends_with("log"), "{log}");
    assert!(
        log.contains("windtunnel-faults-seed-7-") && !log.ends_with("-7-.log"),
        "the name is random: {log}"
    );
    assert_eq!(*repeat, "repeat: windtunnel envtest --perturb stale,conflict,seed=7 -- /bin/sh -c 'exit 1'");
}
