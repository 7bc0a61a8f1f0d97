//! The simulated cluster-version operator and the real one in the same cluster with the same events.
//!
//! `tests/operator/recordings` has what the real operator wrote. Every test run compares the simulated operator with
//! it. To record again, with the real program in the folder that `WINDTUNNEL_REAL` names, as root on Linux:
//!
//! ```text
//! cargo test --test it -- --ignored operator::records_the_real_operator
//! ```

mod cluster;
mod compare;
mod handover;
mod payload;
mod process;
mod script;
mod sequence;
mod trace;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::real::programs;
use crate::recordings::ours;

/// The recording of a sequence.
fn recording(name: &str) -> PathBuf {
    ours(&format!("operator/recordings/{name}.jsonl"))
}

#[test]
fn the_simulated_operator_writes_the_statuses_of_the_real_one() {
    let sequences = sequence::all();
    assert!(sequences.len() >= 40, "{} sequences", sequences.len());
    let mut problems = String::new();
    for sequence in &sequences {
        let Ok(text) = fs::read_to_string(recording(&sequence.name)) else {
            writeln!(problems, "{}: there is no recording", sequence.name).unwrap();
            continue;
        };
        problems += &compare::differences(&sequence.name, &trace::parse(&text), &script::simulated(sequence));
    }
    let differing: BTreeSet<&str> = problems.lines().filter(|line| !line.starts_with(' ')).collect();
    let known = fs::read_to_string(ours("operator/known-differences.txt")).unwrap();
    let known: BTreeSet<&str> = known.lines().filter(|line| !line.starts_with('#')).collect();
    let changed: Vec<&&str> = differing.symmetric_difference(&known).collect();
    assert!(changed.is_empty(), "new differences, or known ones that are gone: {changed:#?}\n{problems}");
}

/// Takes ten minutes, in which all sequences run side by side.
#[test]
#[ignore = "writes recordings, in ten minutes"]
#[expect(clippy::disallowed_methods, reason = "a test selects its sequences by the environment")]
fn records_the_real_operator() {
    let Some([program]) = programs(["cluster-version-operator"]) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let only = std::env::var("SEQUENCES").unwrap_or_default();
    let started: Vec<_> = sequence::all()
        .into_iter()
        .filter(|sequence| sequence.name.contains(&only))
        .map(|sequence| {
            let (program, folder) = (program.clone(), folder.path().join(&sequence.name));
            fs::create_dir_all(&folder).unwrap();
            let run = async move {
                let phases = script::real(&sequence, &program, &folder).await;
                fs::write(recording(&sequence.name), trace::print(&phases)).unwrap();
            };
            runtime.spawn(run)
        })
        .collect();
    for one in started {
        runtime.block_on(one).unwrap();
    }
}
