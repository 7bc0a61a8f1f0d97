//! The consent of the user to the commands that files name in `programs`.

use std::path::Path;

use super::args::{CONSENT, ProgramArgs};
use super::{files, print_notice};
use crate::plan::{Permission, ProgramPlace, ProgramPlan, Variables};

/// Lets the programs start that a file names, if the user allows it, and prints their commands. Programs of the command line need
/// no consent.
///
/// # Errors
/// The commands that the user has not allowed, with the place of the first; or paths that lead out of the allowed folders.
pub(super) fn permit(args: &ProgramArgs, file: &str, programs: &mut [ProgramPlan]) -> Result<(), String> {
    let permitted = args.permitted();
    check(permitted.as_ref(), file, programs)?;
    if let Some(variables) = permitted {
        if let Some(line) = announcement(file, programs) {
            print_notice(&line);
        }
        for program in programs {
            program.permit(&variables);
        }
    }
    Ok(())
}

/// Checks that the programs that a file names may start.
///
/// # Errors
/// As [`permit`].
pub(super) fn check(
    permitted: Option<&Variables>,
    file: &str,
    programs: &[ProgramPlan],
) -> Result<(), String> {
    let Some((line, column)) = of_file(programs).find_map(place) else { return Ok(()) };
    if permitted.is_none() {
        return Err(format!(
            "{file}:{line}:{column}: this file starts commands on this machine: {}; if you trust them, add `{CONSENT}`",
            commands(programs)
        ));
    }
    let outside = of_file(programs).filter_map(|program| {
        let (line, column) = place(program)?;
        paths(program).find_map(|path| {
            // The path is already relative to this process.
            let why = files::allowed::check_used(Path::new(file), path).err()?;
            Some(format!("{file}:{line}:{column}: {why}"))
        })
    });
    let outside: Vec<String> = outside.collect();
    if outside.is_empty() { Ok(()) } else { Err(outside.join("\n")) }
}

/// Returns the line about the commands that a file starts; `None` if there are none.
pub(super) fn announcement(file: &str, programs: &[ProgramPlan]) -> Option<String> {
    of_file(programs).next()?;
    Some(format!("{file} starts on this machine: {}", commands(programs)))
}

fn of_file(programs: &[ProgramPlan]) -> impl Iterator<Item = &ProgramPlan> {
    programs.iter().filter(|program| place(program).is_some())
}

/// The line and the column of a program that needs consent.
fn place(program: &ProgramPlan) -> Option<(usize, usize)> {
    match program.permission {
        Permission::Missing { line, column } => Some((line, column)),
        Permission::Typed | Permission::Given(_) => None,
    }
}

/// The files and the folder of a program, other than its command.
fn paths(program: &ProgramPlan) -> impl Iterator<Item = &Path> {
    program.files.values().map(Path::new).chain(program.folder.as_deref())
}

/// The commands that need consent, as a list in one line.
fn commands(programs: &[ProgramPlan]) -> String {
    of_file(programs).map(command).collect::<Vec<_>>().join(", ")
}

fn command(program: &ProgramPlan) -> String {
    if program.command.is_empty() {
        let of = match &program.place {
            ProgramPlace::In(_) => shown(&program.place.to_string()),
            ProgramPlace::Beside { .. } | ProgramPlace::Step => String::new(),
        };
        return format!("the commands of the containers {of}");
    }
    let words: Vec<String> = program.command.iter().map(|word| shown(word)).collect();
    format!("`{}`", words.join(" "))
}

/// A word of a command, in quotes unless it is plain. Nothing in it changes the terminal.
pub(super) fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,{}*".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn commands_are_shown_in_one_line_without_control_characters() {
        let text = "[{command: [x, --a=b, \"two words\", \"a\\nb\\e[2J\\u202e\"]}, {image: '*/y:*'}]";
        let programs = scenario::programs("a.yaml", text).unwrap();
        let expected =
            r#"`x --a=b "two words" "a\nb\u{1b}[2J\u{202e}"`, the commands of the containers */y:*"#;
        assert_eq!(commands(&programs), expected);
    }
}
