//! `windtunnel split-upgrade`: splits a scenario into a pre-upgrade and a post-upgrade one, for environments where
//! something else updates the cluster between the two runs.

use std::path::Path;

use super::args::SplitUpgradeArgs;
use super::payload::Releases;
use super::{Exit, files, print_output};
use crate::cli::output::Shown as _;
use crate::scenario::split_upgrade as scenario_split;
use crate::steps::split_upgrade as feature_split;

/// Prints the two scenarios, or writes them to files.
pub(super) fn split_upgrade(args: &SplitUpgradeArgs) -> Result<Exit, String> {
    let stem = args.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let scenarios = split(&args.path, &stem)?;
    let Some(out) = &args.out else {
        let texts: Vec<String> =
            scenarios.into_iter().map(|(name, text)| format!("# {name}\n{text}")).collect();
        print_output(&texts.join("\n"));
        return Ok(Exit::Passed);
    };
    for (name, text) in scenarios {
        files::write_into(out, &name, &text)?;
        print_output(&format!("{}\n", out.join(name).shown()));
    }
    Ok(Exit::Passed)
}

/// Returns file names and texts of the scenarios; each row of a table of parameters has two of its own.
fn split(path: &Path, stem: &str) -> Result<Vec<(String, String)>, String> {
    let (file, text) = (path.display().to_string(), files::read(path)?);
    if file.ends_with(".feature") {
        let feature_split::SplitFeature { prepare, check } =
            feature_split::split(&file, &text, Some(files::BESIDE_FEATURES))?;
        return Ok(vec![
            (format!("{stem}-prepare.feature"), prepare),
            (format!("{stem}-check.feature"), check),
        ]);
    }
    let rows =
        scenario_split::split(&file, &text, &Releases::default()).map_err(|problems| problems.to_string())?;
    let row = |number: usize| if rows.len() == 1 { String::new() } else { format!("-{}", number + 1) };
    let named = rows.iter().enumerate().flat_map(|(number, pair)| {
        let name = |phase: &str| format!("{stem}{}-{phase}.yaml", row(number));
        [(name("prepare"), pair.prepare.clone()), (name("check"), pair.check.clone())]
    });
    Ok(named.collect())
}
