//! `windtunnel twins`: a scenario as two, for runs in which others update the cluster between them.

use std::path::Path;

use super::args::TwinsArgs;
use super::payload::Releases;
use super::{Exit, files, say};
use crate::scenario::twins;
use crate::steps::twins as of_feature;

/// Prints the twins, or writes them.
pub(super) fn twins(args: &TwinsArgs) -> Result<Exit, String> {
    let stem = args.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let twins = made(&args.path, &stem)?;
    let Some(out) = &args.out else {
        let texts: Vec<String> = twins.into_iter().map(|(name, text)| format!("# {name}\n{text}")).collect();
        say(&texts.join("\n"));
        return Ok(Exit::Passed);
    };
    for (name, text) in twins {
        let path = Path::new(out).join(name);
        files::write(&path, &text)?;
        say(&format!("{}\n", path.display()));
    }
    Ok(Exit::Passed)
}

/// The names of the twins' files, and their texts; each row of a table of parameters has twins of its own.
fn made(path: &Path, stem: &str) -> Result<Vec<(String, String)>, String> {
    let (file, text) = (path.display().to_string(), files::read(path)?);
    if file.ends_with(".feature") {
        let of_feature::Twins { prepare, check } = of_feature::twins(&file, &text)?;
        return Ok(vec![
            (format!("{stem}-prepare.feature"), prepare),
            (format!("{stem}-check.feature"), check),
        ]);
    }
    let rows = twins::twins(&file, &text, &Releases::default()).map_err(|problems| problems.to_string())?;
    let row = |number: usize| if rows.len() == 1 { String::new() } else { format!("-{}", number + 1) };
    let named = rows.iter().enumerate().flat_map(|(number, twins)| {
        let name = |phase: &str| format!("{stem}{}-{phase}.yaml", row(number));
        [(name("prepare"), twins.prepare.clone()), (name("check"), twins.check.clone())]
    });
    Ok(named.collect())
}
