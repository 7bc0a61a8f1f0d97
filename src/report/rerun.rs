//! Commands that run scenarios again.

use std::collections::BTreeSet;

use windtunnel_core::text::one_line;

use super::ScenarioResult;

/// Returns the command that runs a scenario again; empty if its file is unknown. `command` is the command of
/// the run, such as `windtunnel run`; `options` are further options that its scenarios depend on. `shared` has the files with
/// several scenarios, by [`shared_files`].
pub fn one(command: &str, result: &ScenarioResult, options: &[String], shared: &BTreeSet<&str>) -> String {
    if result.file.is_empty() {
        return String::new();
    }
    let seed = result.seed.to_string();
    let name = format!("^{}$", regex::escape(&result.name));
    let is_shared = shared.contains(result.file.as_str()) && !result.invalid;
    let name: &[&str] = if is_shared { &["--name", &name] } else { &[] };
    let words = [result.file.as_str(), "--seed", &seed].into_iter().chain(name.iter().copied());
    quoted(command, words.chain(options.iter().map(String::as_str)))
}

/// Returns the files with several scenarios among these results.
pub fn shared_files<'r>(results: impl Iterator<Item = &'r ScenarioResult>) -> BTreeSet<&'r str> {
    let (mut once, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for result in results {
        if !once.insert(result.file.as_str()) {
            shared.insert(result.file.as_str());
        }
    }
    shared
}

/// Returns the command that runs the failures and flakes among these results and no others; empty if there
/// are none. Invalid files are left out.
pub fn failures(command: &str, results: &[ScenarioResult], options: &[String]) -> String {
    let is_wanted =
        |result: &&ScenarioResult| result.failure.is_some() && !result.invalid && !result.file.is_empty();
    let wanted: Vec<&ScenarioResult> = results.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return String::new();
    }
    let files: BTreeSet<&str> = wanted.iter().map(|result| result.file.as_str()).collect();
    let has_others = results.iter().any(|result| result.failure.is_none() && files.contains(&*result.file));
    let names: BTreeSet<String> = wanted.iter().map(|result| regex::escape(&result.name)).collect();
    let names = format!("^({})$", names.into_iter().collect::<Vec<_>>().join("|"));
    let seeds: BTreeSet<u64> = wanted.iter().map(|result| result.seed).collect();
    let flag = if seeds.len() == 1 { "--seed" } else { "--seeds" };
    let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let name: &[&str] = if has_others { &["--name", &names] } else { &[] };
    let words = files.into_iter().chain([flag, &seeds]).chain(name.iter().copied());
    quoted(command, words.chain(options.iter().map(String::as_str)))
}

fn quoted<'a>(command: &str, words: impl Iterator<Item = &'a str>) -> String {
    // Quoting only fails for a null byte, which no path contains.
    let words = shlex::try_join(words).unwrap_or_default();
    format!("{command} {}", one_line(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(file: &str, name: &str, fails: bool) -> ScenarioResult {
        let failure = fails.then(|| "no".to_owned());
        ScenarioResult { failure, ..ScenarioResult::not_started(name, file, &[], 7) }
    }

    #[test]
    fn a_command_names_the_files_of_failures_and_their_names_where_others_passed() {
        let (bad, other) = (result("b c.yaml", "x (1)", true), result("a.yaml", "y", true));
        let options = ["--payload".to_owned(), "4.1.0=p".to_owned()];
        assert_eq!(
            one("windtunnel run", &bad, &options, &BTreeSet::new()),
            "windtunnel run 'b c.yaml' --seed 7 --payload '4.1.0=p'"
        );
        let (plain, sibling) = (result("b c.yaml", "x y", true), result("b c.yaml", "z", false));
        assert_eq!(
            one("windtunnel run", &plain, &[], &shared_files([&plain, &sibling].into_iter())),
            "windtunnel run 'b c.yaml' --seed 7 --name '^x y$'"
        );
        let all = [bad, other, result("d.yaml", "z", false)];
        assert_eq!(failures("windtunnel run", &all, &[]), "windtunnel run a.yaml 'b c.yaml' --seed 7");
        let with_sibling = [&all[..], &[result("a.yaml", "w", false)]].concat();
        assert_eq!(
            failures("windtunnel run", &with_sibling, &[]),
            r#"windtunnel run a.yaml 'b c.yaml' --seed 7 --name '^(x '"\\(1\\)|y)"'$'"#
        );
        assert_eq!(failures("windtunnel run", &all[2..], &[]), "");
        let other_seed = ScenarioResult { seed: 3, ..result("e.yaml", "e", true) };
        assert_eq!(
            failures("windtunnel run", &[all[1].clone(), other_seed], &[]),
            "windtunnel run a.yaml e.yaml --seeds '3,7'"
        );
    }
}
