//! `oc adm upgrade` compared with recorded transcripts of the real one, in `tests/oc`:
//! every byte of its output, its exit code, and the patch that it sent.

mod clusters;
mod transcripts;

use std::fs;

use serde_json::Value;
use windtunnel_openshift::oc::{Alert, ClusterView, Command, CommandOutput, CommandStep, Gates};

use crate::recordings::ours;
use clusters::{Cluster, cluster};
use transcripts::{Transcript, parse};

/// The output of a command in a cluster, and the patch that it sends.
fn execute(words: &[String], cluster: &Cluster) -> (CommandOutput, Option<String>) {
    let command = match Command::read(words, cluster.gates) {
        Ok(command) => command,
        Err(output) => return (output, None),
    };
    let alerts: Vec<Alert> = cluster.alerts.iter().map(Alert::read).collect();
    let alerts = if cluster.has_token {
        Ok(alerts.as_slice())
    } else {
        Err("no token is currently in use for this session")
    };
    match command.begin(&ClusterView { cluster_version: Some(&cluster.version), alerts }) {
        CommandStep::Done(output) => (output, None),
        CommandStep::Patch(patch) => {
            let body = patch.body.clone();
            assert_eq!(patch.to_value(), serde_json::from_str::<Value>(&body).unwrap());
            let answer = cluster.rejection.as_deref();
            (patch.finish(answer.map_or(Ok(&cluster.version), Err)), Some(body))
        }
    }
}

/// The difference between a transcript and our output in its cluster.
fn difference(transcript: &Transcript, cluster: &Cluster) -> Option<String> {
    let (output, patch) = execute(&transcript.words, cluster);
    let ours = if transcript.is_excerpt {
        let from = output.stdout.find("Updates to").unwrap_or_default();
        CommandOutput { stdout: clusters::short_images(&output.stdout[from..]), ..output }
    } else {
        output
    };
    let same = ours == transcript.output && patch == transcript.patch;
    let Transcript { name, words, output, patch: real, .. } = transcript;
    (!same).then(|| format!("{name} {words:?}\n--- ours {ours:#?} {patch:?}\n--- real {output:#?} {real:?}"))
}

#[test]
#[expect(clippy::print_stdout, reason = "reports the number of transcripts")]
fn every_recorded_command_prints_what_oc_prints() {
    let transcripts = parse(&fs::read_to_string(ours("oc/transcripts.txt")).unwrap());
    let mut found = Vec::new();
    for transcript in &transcripts {
        match cluster(&transcript.section, &transcript.name) {
            Some(cluster) => found.extend(difference(transcript, &cluster)),
            None => found.push(format!("{} {}: no such cluster", transcript.section, transcript.name)),
        }
    }
    println!("{} transcripts compared", transcripts.len());
    assert!(transcripts.len() > 130, "only {} transcripts", transcripts.len());
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_command_reports_a_missing_cluster_version() {
    let gates = Gates { accept_risks: true, rollback: true };
    for (words, no) in
        [("", "No"), ("recommend", "No"), ("channel a", "no"), ("accept A", "no"), ("rollback", "no")]
    {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let command = Command::read(&words, gates).unwrap();
        let CommandStep::Done(output) =
            command.begin(&ClusterView { cluster_version: None, alerts: Ok(&[]) })
        else {
            panic!("{words:?} does not stop")
        };
        let expected = "cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version";
        assert_eq!((output.stderr, output.code), (format!("error: {no} {expected}\n"), 1), "{words:?}");
    }
}

#[test]
fn a_rollback_to_an_unsuitable_previous_version_is_rejected() {
    let check = |change: &str, expected: &str| {
        let cluster = clusters::changed("t6", change);
        let (output, patch) = execute(&["rollback".to_owned()], &cluster);
        assert_eq!((output.stderr, patch), (format!("error: {expected}\n"), None), "{change}");
    };
    check(
        "{history: [[4.16.5, '05'], [4.17.1, 'ab']]}",
        &format!(
            "previous version 4.17.1 ({}) is greater than or equal to current version 4.16.5 ({}).  Use 'oc adm upgrade ...' to update, and not this rollback command.",
            clusters::image("ab"),
            clusters::image("05")
        ),
    );
    check(
        "{history: [[4.16.5, '05'], [4.15.9, 'ab']]}",
        "4.15.9 is less than the current target 4.16.5 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended.",
    );
    check(
        "{history: [[4.16.5, '05'], ['4.15', 'ab']]}",
        "previous version \"4.15\" invalid SemVer: No Major.Minor.Patch elements found",
    );
    check(
        "{conditions: {Progressing: null}}",
        "no current Progressing info, see `oc describe clusterversion` for more details.",
    );
}

#[test]
fn a_rollback_patch_leaves_out_accepted_risks() {
    let cluster = clusters::changed("t6", "{spec: {desiredUpdate: {acceptRisks: [{name: A}]}}}");
    let (_, patch) = execute(&["rollback".to_owned()], &cluster);
    let body = format!(
        "{{\"spec\":{{\"desiredUpdate\": {{\"architecture\":\"\",\"version\":\"4.16.4\",\"image\":\"{}\",\"force\":false}}}}}}",
        clusters::image("04")
    );
    assert_eq!(patch, Some(body));
}

#[test]
fn error_message_returns_the_text_after_the_word_error() {
    let stderr = "warning: an error: a\nerror: b\n  c\n".to_owned();
    let rejected = CommandOutput { stderr, code: 1, ..CommandOutput::default() };
    assert_eq!(rejected.error_message(), Some("b\n  c"));
    assert_eq!(CommandOutput::default().error_message(), None);
}
