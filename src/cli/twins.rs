//! `windtunnel twins`: a scenario as two features, for runs in which others update the cluster between them.

use std::path::Path;

use super::args::TwinsArgs;
use super::{Exit, files, say};
use crate::steps::twins;

/// Prints the twins, or writes them.
pub(super) fn twins(args: &TwinsArgs) -> Result<Exit, String> {
    let text = files::read(&args.path)?;
    let file = args.path.display().to_string();
    let twins = twins::twins(&file, &text)?;
    let Some(out) = &args.out else {
        say(&format!("{}\n{}", twins.prepare, twins.check));
        return Ok(Exit::Passed);
    };
    let stem = args.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for (phase, text) in [("prepare", &twins.prepare), ("check", &twins.check)] {
        let path = Path::new(out).join(format!("{stem}-{phase}.feature"));
        files::write(&path, text)?;
        say(&format!("{}\n", path.display()));
    }
    Ok(Exit::Passed)
}
