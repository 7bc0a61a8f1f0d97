//! `windtunnel test`: plays Gherkin features.

use super::args::TestArgs;
use super::run::FAILED_FAST;
use super::{Exit, files, say, snapshots};
use crate::report::{ScenarioResult, junit, summary};
use crate::steps::{self, Beside, Playing, Suite, TagOperation};

/// Plays the features that the arguments name.
pub(super) fn test(args: &TestArgs) -> Result<Exit, String> {
    let sources = files::read_all(&args.paths, "feature")?;
    let tags = args.tags.as_deref().map(parse_tags).transpose()?;
    let snapshot = if args.update_snapshots { snapshots::to_be_written } else { snapshots::kept };
    let beside = Beside { folder: files::read_beside, snapshot };
    let mut suite = Suite::read_with(&sources, beside).map_err(|problems| problems.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| format!("no runtime could be made: {error}"))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    suite.retain(|number| args.selection.has(number));
    let playing = Playing { tags, seed: args.seed, concurrency: cores, fail_fast: args.selection.fail_fast };
    let (played, wall) = super::run::timed(|| runtime.block_on(suite.run(playing)));
    let results: Vec<ScenarioResult> = played.iter().map(|played| result(played, args.seed)).collect();
    // A part may be empty where there are more parts than scenarios.
    if results.is_empty() && args.selection.shard.is_none() {
        return Err(match &args.tags {
            Some(tags) => format!("--tags: no scenario has tags that fit `{tags}`"),
            None => "there is no scenario".to_owned(),
        });
    }
    let mut feature = None;
    for (played, result) in played.iter().zip(&results) {
        if feature != Some((&played.file, &played.feature)) {
            feature = Some((&played.file, &played.feature));
            say(&format!("{}: {}\n", played.file, played.feature));
        }
        say(&summary::scenario(result));
    }
    let kept = snapshots::write(played.iter().flat_map(|played| &played.snapshots));
    let unwritten = match &args.junit {
        Some(path) => {
            let xml = junit::render("windtunnel test", &results).map_err(|error| error.to_string())?;
            files::write(path, &xml)
        }
        None => Ok(()),
    };
    say(&summary::run(&results, wall));
    kept.and(unwritten)?;
    Ok(if results.iter().any(ScenarioResult::failed) { Exit::Failed } else { Exit::Passed })
}

fn parse_tags(text: &str) -> Result<TagOperation, String> {
    text.parse().map_err(|error| {
        format!("--tags: expected an expression such as `@rollback and not @slow`, found `{text}`: {error}")
    })
}

fn result(played: &steps::ScenarioResult, seed: u64) -> ScenarioResult {
    if !played.begun {
        return ScenarioResult::skipped(&played.name, &played.file, &[], seed, FAILED_FAST);
    }
    let mut result = played.record.as_ref().map_or_else(
        || ScenarioResult::unplayed(&played.name, &played.file, &[], seed),
        |record| ScenarioResult::of(record, &played.file),
    );
    result.name.clone_from(&played.name);
    result.failure.clone_from(&played.failure);
    result.failed_at = played.failed_at.or_else(|| played.failure.as_ref().map(|_| (played.line, 1)));
    result
}
