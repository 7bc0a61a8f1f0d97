//! `windtunnel new`: creates a scenario or a feature from a template.

use std::ffi::OsStr;
use std::path::Path;

use super::args::NewArgs;
use super::templates::TEMPLATES;
use super::{Exit, files, print_output};
use crate::cli::output::Shown as _;

pub(super) fn new(args: &NewArgs) -> Result<Exit, String> {
    let Some(path) = &args.path else {
        let width = TEMPLATES.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, description, ..) in TEMPLATES {
            print_output(&format!("{name:width$}  {description}\n"));
        }
        return Ok(Exit::Passed);
    };
    let (template, text) = chosen(path, args.from_template.as_deref())?;
    if path.exists() {
        return Err(format!("{}: the file already exists", path.shown()));
    }
    files::create_folder(path.parent().unwrap_or(Path::new("")))?;
    files::write(path, &text.replace("NAME", &name_of(path)))?;
    let command = if path.extension() == Some(OsStr::new("feature")) { "test" } else { "run" };
    print_output(&format!(
        "{}: written from template `{template}`\nrun it: windtunnel {command} {0}\n",
        path.shown()
    ));
    Ok(Exit::Passed)
}

/// Returns the template of this name, or the first one for this extension.
fn chosen(path: &Path, name: Option<&str>) -> Result<(&'static str, &'static str), String> {
    let extension = path.extension().unwrap_or_default();
    let fits = |template: &str| *extension == *template;
    let found = match name {
        Some(name) => TEMPLATES.iter().find(|(template, ..)| *template == name),
        None => TEMPLATES.iter().find(|(_, _, extension, _)| fits(extension)),
    };
    match found {
        Some((name, _, extension, text)) if fits(extension) => Ok((name, text)),
        Some((name, _, extension, _)) => {
            Err(format!("{}: template `{name}` is for files named *.{extension}", path.shown()))
        }
        None => Err(format!("{}: expected a file named *.yaml or *.feature", path.shown())),
    }
}

/// Returns the name of a file as words.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().replace(['-', '_'], " ")
}
