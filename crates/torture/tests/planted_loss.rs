//! A planted loss: a program that deletes its data at some start must be found.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Serves with the real program, and deletes the data folder (the last argument) from the sixth start on.
const FORGETFUL: &str = r#"#!/bin/sh
for folder; do :; done
echo >>"$0.starts"
[ "$(wc -l <"$0.starts")" -lt 6 ] || rm -rf "$folder"
exec "$0.program" "$@"
"#;

#[test]
fn a_program_that_loses_acknowledged_writes_is_found() {
    let torture = Path::new(env!("CARGO_BIN_EXE_windtunnel-torture"));
    let program = torture.with_file_name("windtunnel");
    if !program.exists() {
        let line =
            "skipped: a_program_that_loses_acknowledged_writes_is_found: no windtunnel beside the tests\n";
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let forgetful = folder.path().join("forgetful");
    std::fs::write(&forgetful, FORGETFUL).unwrap();
    std::fs::set_permissions(&forgetful, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(program, folder.path().join("forgetful.program")).unwrap();
    let output = Command::new(torture)
        .args(["--only", "kills", "--minutes", "5", "--format", "json", "--program"])
        .arg(&forgetful)
        .arg("--evidence")
        .arg(folder.path())
        .output()
        .unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{result:#}");
    let area = &result["areas"][0];
    assert!(area["lost"].as_u64() > Some(0), "{result:#}");
    let texts: Vec<&str> =
        area["findings"].as_array().unwrap().iter().filter_map(|finding| finding["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("the revision went back from ")), "{texts:#?}");
}
