//! Wrong input of `windtunnel run`: every mistake is reported with its place, and only valid files run.

use super::environment::{TestEnvironment, check};
use super::scenarios::CALM;

/// Runs a scenario with this text.
fn scenario(text: &str) -> String {
    check(&[("s.yaml", text)], &["run", "s.yaml"])
}

#[test]
fn all_missing_paths_are_reported() {
    let environment = TestEnvironment::with(&[("empty/notes.txt", ""), ("calm.yaml", CALM)]);
    insta::assert_snapshot!(environment.run(&["run", "none.yaml", "calm.yaml", "empty", "no/where"]), @"
        exit 2
        --- stderr
        error: none.yaml: No such file or directory (os error 2)
        error: empty: expected files named *.yaml or *.feature here, found none
        error: no/where: No such file or directory (os error 2)
        ");
    insta::assert_snapshot!(environment.run(&["run"]), @"
        exit 2
        --- stderr
        error: scenarios: No such file or directory (os error 2)
        ");
}

#[test]
fn a_missing_path_suggests_the_nearest_name_that_exists() {
    let environment = TestEnvironment::with(&[("suite/calm.yaml", CALM)]);
    insta::assert_snapshot!(environment.run(&["run", "suite/clam.yaml", "siute/calm.yaml"]), @"
        exit 2
        --- stderr
        error: suite/clam.yaml: No such file or directory (os error 2); did you mean `suite/calm.yaml`?
        error: siute/calm.yaml: No such file or directory (os error 2); did you mean `suite`?
        ");
}

/// As the kubelet mounts a ConfigMap: with a folder that has another name after each change, and links to its content.
#[cfg(unix)]
#[test]
fn files_of_a_mounted_config_map_have_their_constant_names() {
    use std::os::unix::fs::symlink;
    let content = "volume/..2026_11_27_22_34_10.1234567890";
    let environment = TestEnvironment::with(&[
        (&format!("{content}/calm.yaml"), CALM),
        (&format!("{content}/more/calm.yaml"), CALM),
    ]);
    let volume = environment.work().join("volume");
    symlink("..2026_11_27_22_34_10.1234567890", volume.join("..data")).unwrap();
    for name in ["calm.yaml", "more"] {
        symlink(format!("..data/{name}"), volume.join(name)).unwrap();
    }
    insta::assert_snapshot!(environment.run(&["run", "--list", "volume"]), @"
        exit 0
        volume/calm.yaml       calm
        volume/more/calm.yaml  calm
        ");
    assert_eq!(environment.run(&["run", "--list", "volume/..data"]).code, Some(0));
}

#[test]
fn invalid_utf8_is_reported_with_its_first_byte() {
    let environment = TestEnvironment::new();
    environment.write("latin1.yaml", b"name: a\ncluster: \xe9t\xe9\n");
    environment.write("utf16.yaml", b"\xff\xfen\0a\0m\0e\0");
    environment.write("nul.yaml", b"name: a\0b\n");
    insta::assert_snapshot!(environment.run(&["run", "latin1.yaml", "utf16.yaml"]), @"
        exit 2
        --- stderr
        error: latin1.yaml:2:10: expected text in UTF-8, found the byte 0xe9
        error: utf16.yaml:1:1: expected text in UTF-8, found the byte 0xff
        ");
    insta::assert_snapshot!(environment.run(&["run", "nul.yaml"]), @r"
    exit 2
    --- stderr
    error: nul.yaml:1:8: unexpected character: `\u{0}'
    error: nul.yaml:2:1: expected a scenario (a map), found nothing; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example
    ");
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_as_input() {
    let environment = TestEnvironment::new();
    let pipe = environment.work().join("pipe.yaml");
    std::os::unix::fs::symlink("pipe.yaml", environment.work().join("pipe")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (arguments, kind) in [
        (["run", "/dev/zero"], "a device"),
        (["lint", "pipe.yaml"], "a pipe"),
        (["report", "pipe"], "a pipe"),
        (["status", "/dev/zero"], "a device"),
    ] {
        let printed = environment.run(&arguments).to_string();
        assert!(
            printed.contains(&format!("expected a regular file, found {kind}")),
            "{arguments:?}: {printed}"
        );
        assert!(printed.starts_with("exit 2"), "{arguments:?}: {printed}");
    }
}

/// An environment with a pipe `q` and a link `zero` to a file without an end.
#[cfg(unix)]
fn with_endless_files() -> TestEnvironment {
    let environment = TestEnvironment::with(&[("s.yaml", CALM)]);
    std::os::unix::fs::symlink("/dev/zero", environment.work().join("zero")).unwrap();
    let pipe = environment.work().join("q");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    environment
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_as_kubeconfigs() {
    let environment = with_endless_files();
    for (file, kind) in [("q", "a pipe"), ("zero", "a device")] {
        for arguments in [
            &["clock", "--kubeconfig", file][..],
            &["status", "--kubeconfig", file],
            &["insights", "--once", "--kubeconfig", file],
            &["record", "-o", "r", "--kubeconfig", file],
            &["rbac", "--kubeconfig", file],
            &["clean", "--context", "c", "--kubeconfig", file],
            &["run", "s.yaml", "--backend", "kubeconfig", "--context", "c", "--kubeconfig", file],
            &["run", "s.yaml", "--backend", "kubeconfig", "--kubeconfig", file],
            &["adm", "upgrade", "--kubeconfig", file],
            &["adm", "upgrade", "--server", "https://127.0.0.1:1", "--certificate-authority", file],
        ] {
            let output = environment.run(arguments);
            let expected = format!("error: {file}: expected a regular file, found {kind}; write its content");
            assert!(output.stderr.contains(&expected), "{arguments:?}: {output}");
            assert_ne!(output.code, Some(0), "{arguments:?}: {output}");
        }
    }
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_in_kubeconfigs() {
    let environment = with_endless_files();
    let kubeconfig = |cluster: &str, user: &str| {
        format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}, {{name: other, user: {{tokenFile: q}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n"
        )
    };
    for text in [
        kubeconfig(", certificate-authority: q", ""),
        kubeconfig("", "client-certificate: q, client-key: s.yaml"),
        kubeconfig("", "client-certificate: s.yaml, client-key: q"),
        kubeconfig("", "tokenFile: q"),
    ] {
        environment.write("config", &text);
        let output = environment.run(&["clock", "--kubeconfig", "config"]);
        assert!(output.stderr.contains("q: expected a regular file, found a pipe"), "{text}\n{output}");
    }
    // The files of other users are not read.
    environment.write("config", kubeconfig("", ""));
    let output = environment.run(&["clock", "--kubeconfig", "config"]);
    assert!(!output.stderr.contains("regular file"), "{output}");
    let with_variable = |files: &str, arguments: &[&str]| {
        let mut command = environment.command(arguments);
        let output = command.env("KUBECONFIG", files).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let stderr = with_variable("config:q", &["clock"]);
    assert!(stderr.contains("error: q: expected a regular file, found a pipe"), "{stderr}");
    // The usual ways to name no kubeconfig.
    for arguments in [
        &["adm", "upgrade", "--server", "https://127.0.0.1:1"][..],
        &["adm", "upgrade", "--server", "https://127.0.0.1:1", "--kubeconfig", "/dev/null"],
    ] {
        let stderr = with_variable("/dev/null", arguments);
        assert!(stderr.contains("127.0.0.1:1") && !stderr.contains("regular file"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_as_states_of_explorations() {
    for (file, kind) in [("q", "a pipe"), ("zero", "a device")] {
        let environment = with_endless_files();
        std::fs::create_dir(environment.work().join("corpus")).unwrap();
        let state = environment.work().join("corpus/state.json");
        std::os::unix::fs::symlink(environment.work().join(file), state).unwrap();
        for arguments in [
            &["explore", "report", "corpus", "--allow-folder", "/"][..],
            &["explore", "s.yaml", "--runs", "1", "--corpus", "corpus", "--allow-folder", "/"],
        ] {
            let output = environment.run(arguments);
            let expected =
                format!("corpus/state.json: cannot be read: expected a regular file, found {kind}");
            assert!(output.stderr.contains(&expected), "{arguments:?}: {output}");
            assert_eq!(output.code, Some(2), "{arguments:?}: {output}");
        }
    }
}

#[test]
fn compressed_files_are_read_up_to_the_limit() {
    use std::io::Write as _;
    let environment = TestEnvironment::new();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&vec![b' '; 100_000]).unwrap();
    environment.write("bomb.yaml.gz", bomb.finish().unwrap());
    let with_limit = |limit: &str| {
        environment.run(&["status", "--from", "bomb.yaml.gz", "--unpack-limit", limit]).to_string()
    };
    let refused = with_limit("99999");
    assert!(refused.contains("error: bomb.yaml.gz: this is too large when unpacked"), "{refused}");
    assert!(refused.contains("raise the limit of 99999 bytes with --unpack-limit"), "{refused}");
    let read = with_limit("100000");
    assert!(read.contains("expected objects of a cluster"), "{read}");
}

#[test]
fn dumps_with_too_many_documents_or_too_large_files_are_refused_with_the_flag() {
    use std::io::Write as _;
    let environment = TestEnvironment::new();
    let packed = |text: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    };
    environment.write("documents.yaml.gz", packed("---\n".repeat(1_000_002).as_bytes()));
    environment.write("plain.yaml", "a: b\n".repeat(300));
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(2000);
    archive.append_data(&mut header, "in/a.yaml", &[b' '; 2000][..]).unwrap();
    environment.write("a.tar.gz", packed(&archive.into_inner().unwrap()));
    let run = |file: &str, limit: &str| {
        environment.run(&["status", "--from", file, "--unpack-limit", limit]).stderr.trim_end().to_owned()
    };
    assert_eq!(
        run("documents.yaml.gz", "2147483648"),
        "error: documents.yaml.gz: this has more than 1,000,000 documents; if you trust it, \
         raise the limit of 2147483648 bytes with --unpack-limit BYTES"
    );
    assert!(run("documents.yaml.gz", "4294967296").contains("expected objects of a cluster"));
    assert_eq!(
        run("plain.yaml", "1000"),
        "error: plain.yaml: this file is larger than 1000 bytes; if you trust it, \
         raise the limit of 1000 bytes with --unpack-limit BYTES"
    );
    assert_eq!(
        run("a.tar.gz", "1999"),
        "error: a.tar.gz: in/a.yaml: this is too large when unpacked; if you trust it, \
         raise the limit of 1999 bytes with --unpack-limit BYTES"
    );
}

#[test]
fn a_scenario_with_too_many_values_has_one_error() {
    let text = format!("name: n\nname: m\ntimeline:\n{}", "- {advanse}\n".repeat(125_000));
    let environment = TestEnvironment::with(&[("s.yaml", text.as_str())]);
    insta::assert_snapshot!(environment.run(&["lint", "s.yaml"]), @"
        exit 2
        error: s.yaml:1:1: the YAML has more than 250,000 values: move steps into other files with `include`
        1 file: 1 error, 0 warnings
        ");
}

#[cfg(unix)]
#[test]
fn cyclic_links_are_not_followed() {
    let environment = TestEnvironment::with(&[("a/calm.yaml", CALM)]);
    std::os::unix::fs::symlink(environment.work().join("a"), environment.work().join("a/again")).unwrap();
    let output = environment.run(&["run", "--quiet", "a"]);
    assert!(output.stdout.contains("\n1 scenario: 1 passed"), "{output}");
}

#[test]
fn files_without_a_scenario_are_reported() {
    insta::assert_snapshot!(scenario(""), @"
    exit 2
    --- stderr
    error: s.yaml:1:1: expected a scenario (a map), found nothing; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example
    ");
    insta::assert_snapshot!(scenario("# later\n"), @"
        exit 2
        --- stderr
        error: s.yaml:2:1: expected a scenario (a map), found nothing; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example
        ");
    insta::assert_snapshot!(scenario("hello\n"), @"
        exit 2
        --- stderr
        error: s.yaml:1:1: expected a scenario (a map), found `hello`; write keys such as `name`, `description`, `ids`, `tags`, `strict`, `parameters`, each with its value
        ");
    insta::assert_snapshot!(scenario("- a\n"), @"
        exit 2
        --- stderr
        error: s.yaml:1:1: expected a scenario (a map), found a list; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example
        ");
    insta::assert_snapshot!(scenario("name: n\n"), @"
        exit 2
        --- stderr
        error: s.yaml:1:1: a scenario needs `cluster`: the initial cluster
        error: s.yaml:1:1: a scenario needs `timeline`: the steps
        ");
}

#[test]
fn invalid_yaml_is_reported_with_its_place() {
    insta::assert_snapshot!(scenario("name: n\ncluster: {version: 4.20.1\ntimeline: []\n"), @"
        exit 2
        --- stderr
        error: s.yaml:2:10: the `{` has no end: add `}` at the end of line 2
        error: s.yaml:3:11: the list of steps is empty: expected at least one
        ");
    insta::assert_snapshot!(scenario("name: n\n\tcluster: {}\n"), @"
        exit 2
        --- stderr
        error: s.yaml:1:7: while scanning a plain scalar, found a tab
        ");
    insta::assert_snapshot!(scenario("name: a\n---\nname: b\n"), @"
        exit 2
        --- stderr
        error: s.yaml:3:1: only single YAML document expected but multiple found
        ");
}

#[test]
fn all_problems_are_reported_with_the_nearest_names() {
    let keys = "name: n\nclustre: {version: 4.20.1}\ncluster:\n  version: 4.20.1\n  nodes: many\ntimeline:\n- updat: {to: 4.20.3}\n";
    let values = "name: [n]\nids: [JIRA-1]\ncluster: {version: 4.99.0, kubernetes: newest}\n\
                  timeline:\n- advance: soon\n- update: {to: 4.20.3, force: maybe}\n- expect: {object: Clusterversion/version, within: -1m}\n";
    let files = [("s/keys.yaml", keys), ("s/values.yaml", values), ("s/good.yaml", CALM)];
    insta::assert_snapshot!(check(&files, &["run", "s"]), @r#"
    exit 2
    s/good.yaml: calm

    0:00:00    cluster installed: NNN objects                                                                                                              installer
    0:00:00  ok expect ClusterVersion/version Progressing=False

    PASS  calm  (0:00:00 of cluster time)
          seed 1, record $HASH, $TIME


    Failures:

    ERROR s/keys.yaml  (the file is invalid)
          s/keys.yaml:2:1: a scenario has no key `clustre`; did you mean `cluster`?
          s/keys.yaml:5:10: expected nodes (a map), found `many`; write `{control-plane: many}`; its keys are `control-plane`, `workers`, `pools`, `labels`, `architectures`, `leases`
          s/keys.yaml:7:3: unknown step `updat`; did you mean `update`?

    ERROR s/values.yaml  (the file is invalid)
          s/values.yaml:1:7: expected a name, found a list
          s/values.yaml:2:7: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `okd#1724` or `risk#PreRelease`, found `JIRA-1`
          s/values.yaml:3:20: unknown release 4.99.0: known minors are 4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, 4.21, 4.22, 5.0; did you mean `4.19.0`?
          s/values.yaml:3:40: expected a Kubernetes minor from "1.23" to "1.36", found `newest`
          s/values.yaml:5:12: expected a duration such as `45s`, `10m` or `1h30m`, found `soon`
          s/values.yaml:6:31: expected `true` or `false`, found `maybe`
          s/values.yaml:7:20: unknown kind `Clusterversion`; did you mean `ClusterVersion`?
          s/values.yaml:7:52: expected a duration such as `45s`, `10m` or `1h30m`, found `-1m`

    ERROR s/keys.yaml:2:1: a scenario has no key `clustre`; did you mean `cluster`?
    ERROR s/values.yaml:1:7: expected a name, found a list

    3 scenarios: 1 passed, 0 failed, 2 invalid files; 0:00:00 of cluster time in $TIME ($N times as fast)
    --- stderr
    error: s/keys.yaml:2:1: a scenario has no key `clustre`; did you mean `cluster`?
    error: s/keys.yaml:5:10: expected nodes (a map), found `many`; write `{control-plane: many}`; its keys are `control-plane`, `workers`, `pools`, `labels`, `architectures`, `leases`
    error: s/keys.yaml:7:3: unknown step `updat`; did you mean `update`?
    error: s/values.yaml:1:7: expected a name, found a list
    error: s/values.yaml:2:7: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `okd#1724` or `risk#PreRelease`, found `JIRA-1`
    error: s/values.yaml:3:20: unknown release 4.99.0: known minors are 4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, 4.21, 4.22, 5.0; did you mean `4.19.0`?
    error: s/values.yaml:3:40: expected a Kubernetes minor from "1.23" to "1.36", found `newest`
    error: s/values.yaml:5:12: expected a duration such as `45s`, `10m` or `1h30m`, found `soon`
    error: s/values.yaml:6:31: expected `true` or `false`, found `maybe`
    error: s/values.yaml:7:20: unknown kind `Clusterversion`; did you mean `ClusterVersion`?
    error: s/values.yaml:7:52: expected a duration such as `45s`, `10m` or `1h30m`, found `-1m`
    "#);
}

#[test]
fn scenarios_may_have_a_byte_order_mark_and_windows_line_ends() {
    let text = format!("\u{feff}{}", CALM.replace('\n', "\r\n"));
    let output = TestEnvironment::with(&[("s.yaml", &text)]).run(&["run", "--quiet", "s.yaml"]);
    assert!(output.stdout.starts_with("PASS  calm  ("), "{output}");
}

#[test]
fn an_object_rejected_by_the_api_server_fails_the_scenario() {
    let text = "name: n\ncluster:\n  version: 4.20.1\n  objects:\n  - apiVersion: v1\n    kind: ConfigMap\n    \
                metadata: {name: Not_A_Name, namespace: default}\ntimeline: [clear-update]\n";
    insta::assert_snapshot!(scenario(text), @r#"
        exit 1
        s.yaml: n

        FAIL  n (scenario)  (0:00:00 of cluster time)
              s.yaml:5:5 with seed 1
              the cluster could not be installed: the API server rejected the request to create configmaps/default/Not_A_Name: ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')

        1 scenario: 0 passed, 1 failed; 0:00:00 of cluster time in $TIME ($N times as fast)
        --- stderr
        warning: s.yaml:1:1: this scenario expects nothing, so it always passes
        "#);
}

#[test]
fn invalid_arguments_are_reported() {
    insta::assert_snapshot!(check(&[], &["run", "--seed", "lucky"]), @"
        exit 2
        --- stderr
        error: invalid value 'lucky' for '--seed <SEED>': expected a whole number from 0

        For more information, try '--help'.
        ");
    insta::assert_snapshot!(check(&[], &["run", "--wdth", "80"]), @"
        exit 2
        --- stderr
        error: unexpected argument '--wdth' found

          tip: a similar argument exists: '--width'

        Usage: windtunnel run --width <COLUMNS> [PATHS]...

        For more information, try '--help'.
        ");
    insta::assert_snapshot!(check(&[], &["play"]), @r"
        exit 2
        --- stderr
        error: unrecognized subcommand 'play'

          tip: a similar subcommand exists: 'replay'

        Usage: windtunnel <COMMAND>

        For more information, try '--help'.
        ");
}

#[test]
fn reports_are_written_if_all_files_are_invalid() {
    let environment = TestEnvironment::with(&[("a.yaml", "name: 1\n"), ("b.yaml", "")]);
    let arguments =
        ["run", "a.yaml", "b.yaml", "--junit", "j.xml", "--test-results", "r", "--html", "p.html"];
    let output = environment.run(&arguments);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    let junit = environment.read("j.xml");
    assert!(junit.contains(r#"tests="2""#) && junit.contains(r#"errors="2""#), "{junit}");
    assert_eq!(junit.matches(r#"type="scenario""#).count(), 2, "{junit}");
    assert!(environment.read("r").contains("errors: 2"));
    assert!(environment.read("p.html").contains("a.yaml"));
}

#[test]
fn an_invalid_file_does_not_stop_the_others() {
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    Then ClusterVersion condition Available is True\n";
    let files = [
        ("s/calm.yaml", CALM),
        ("s/broken.yaml", "name: [\n"),
        ("f/good.feature", feature),
        ("f/bad.feature", "Feature: g\n  Scenario: t\n    Given nothing like it\n"),
    ];
    let environment = TestEnvironment::with(&files);
    for (command, folder, invalid, passed) in
        [("run", "s", "s/broken.yaml", "PASS  calm"), ("test", "f", "f/bad.feature", "PASS  s")]
    {
        let output =
            environment.run(&[command, folder, "--junit", "results.xml", "--test-results", "results.yaml"]);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.starts_with(&format!("error: {invalid}:")), "{output}");
        assert!(output.stdout.contains(passed), "{output}");
        assert!(output.stdout.contains(&format!("ERROR {invalid}  (the file is invalid)")), "{output}");
        assert!(output.stdout.contains("2 scenarios: 1 passed, 0 failed, 1 invalid file; "), "{output}");
        let junit = environment.read("results.xml");
        assert!(junit.contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"1\""), "{junit}");
        assert!(junit.contains("<error message=\""), "{junit}");
        assert!(environment.read("results.yaml").contains("errors: 1\n"));
    }
}

#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    let environment = TestEnvironment::with(&[("s/calm.yaml", CALM)]);
    environment.write("s/latin.yaml", b"name: caf\xe9\n");
    let output = environment.run(&["run", "s", "--junit", "results.xml"]);
    assert_eq!(output.code, Some(2), "{output}");
    let problem = "s/latin.yaml:1:10: expected text in UTF-8, found the byte 0xe9";
    assert_eq!(output.stderr, format!("error: {problem}\n"));
    assert!(output.stdout.contains("2 scenarios: 1 passed, 0 failed, 1 invalid file; "), "{output}");
    assert!(environment.read("results.xml").contains(&format!("<error message=\"{problem}\"")));
    let lint = environment.run(&["lint", "s"]);
    assert_eq!(lint.code, Some(2), "{lint}");
    assert_eq!(lint.stdout, format!("error: {problem}\n2 files: 1 error, 0 warnings\n"));
}
