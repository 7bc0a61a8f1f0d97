//! Standard output and standard error as the target of output: files behind them, pipes of others, closed pipes and full disks.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::process::{Command, Stdio};

use super::environment::TestEnvironment;
use super::places::{OTHER, without_privileges};
use super::scenarios::CALM;
use crate::skipped::skipped;

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM)]);
    assert_eq!(environment.run(&["run", "--quiet", "calm.yaml", "--record", "calm.jsonl"]).code, Some(0));
    environment
}

#[test]
fn a_report_on_standard_output_continues_the_file_behind_it() {
    let environment = environment();
    let log = environment.work().join("log");
    for (flag, start) in [
        ("--junit=/dev/stdout", "<?xml"),
        ("--record=/dev/stdout", "{\"windtunnel\":"),
        ("--html=/dev/stdout", "<!"),
        ("--github-summary=/dev/stdout", "##"),
    ] {
        for is_appended in [true, false] {
            fs::write(&log, "before\n").unwrap();
            let file =
                File::options().write(true).truncate(!is_appended).append(is_appended).open(&log).unwrap();
            let status = environment.command(&["run", "calm.yaml", flag]).stdout(file).status().unwrap();
            assert_eq!(status.code(), Some(0));
            let text = fs::read_to_string(&log).unwrap();
            assert_eq!(text.starts_with("before\n"), is_appended, "{flag}: {text}");
            assert!(
                text.contains("ok expect") && text.contains("PASS") && text.contains(start),
                "{flag}: {text}"
            );
            assert!(!text.contains('\0'), "{flag}");
        }
    }
    let errors = File::options().append(true).open(&log).unwrap();
    let command =
        environment.command(&["run", "calm.yaml", "--junit", "/dev/stderr"]).stderr(errors).output();
    assert_eq!(command.unwrap().status.code(), Some(0));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("PASS") && text.contains("<?xml"), "{text}");
}

#[test]
fn a_report_goes_into_the_pipe_of_another_user() {
    let environment = environment();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let writer = File::from(OwnedFd::from(writer));
    if fchown(&writer, Some(OTHER), Some(OTHER)).is_err() {
        return skipped("right to give pipes to another user");
    }
    let arguments = ["run", "--quiet", "calm.yaml", "--junit", "/dev/stdout"];
    let Some(mut command) = without_privileges(&environment, &arguments) else { return skipped("setpriv") };
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("<?xml"), "{text}");
}

#[test]
fn a_page_of_an_exploration_goes_into_devices_and_pipes() {
    let environment = environment();
    for path in ["/proc/self/fd/1", "/dev/null"] {
        let output = environment.run(&["explore", "calm.yaml", "--runs", "1", "--html", path]);
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(output.stdout.contains("</html>"), path != "/dev/null");
    }
    let pipe = environment.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    let output = environment.run(&["explore", "calm.yaml", "--runs", "1", "--html", "pipe"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(reader.join().unwrap().contains("</html>"));
}

/// Commands that print a result.
const PRINTING: &[&[&str]] = &[
    &["run", "calm.yaml"],
    &["run", "calm.yaml", "--format", "json"],
    &["lint", "calm.yaml", "--format", "sarif"],
    &["report", "calm.jsonl"],
    &["scenario-from", "calm.jsonl"],
    &["schema", "scenario"],
    #[cfg(feature = "gherkin")]
    &["steps"],
    &["completions", "bash"],
    #[cfg(feature = "serve")]
    &["envtest", "assets"],
];

#[test]
fn output_that_a_full_disk_loses_is_an_error() {
    let environment = environment();
    for arguments in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = environment.command(arguments).stdout(full).output().unwrap();
        let expected = "error: standard output: cannot be written: No space left on device (os error 28)\n";
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.ends_with(expected), "{arguments:?}: {stderr}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let environment = environment();
    for arguments in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = environment.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!String::from_utf8(output.stderr).unwrap().contains("error"), "{arguments:?}");
    }
}
