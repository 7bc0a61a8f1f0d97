//! Parses Gherkin into a feature, or into errors that say what is wrong: the parser itself only reports
//! where it stopped.

use std::collections::VecDeque;
use std::sync::LazyLock;

use cucumber::feature::Ext as _;
use cucumber::gherkin::{Examples, Feature, GherkinEnv, Rule, Scenario, Step, Table};
use regex::Regex;
use windtunnel_core::text::nearest;

use super::{catalogue, definitions, layout};
use crate::scenario::{ScenarioError, is_id};

/// The keywords of scenarios that have examples.
const OUTLINES: [&str; 2] = ["Scenario Outline", "Scenario Template"];

/// Parses a feature and expands its examples into scenarios.
///
/// # Errors
/// All errors that could be distinguished; at least one.
pub(super) fn parse_feature(file: &str, text: &str) -> Result<Feature, Vec<ScenarioError>> {
    let syntax_error =
        |(line, column, message)| ScenarioError { file: file.to_owned(), line, column, message };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut feature = match Feature::parse(text, GherkinEnv::default()) {
        Ok(feature) => feature,
        Err(error) => {
            let mut errors = layout::errors(text);
            if errors.is_empty() {
                errors.push(describe_parse_error(&error.to_string()));
            }
            return Err(errors.into_iter().map(syntax_error).collect());
        }
    };
    feature.path = Some(file.into());
    let errors = incomplete_parts(&feature, text);
    if !errors.is_empty() {
        return Err(errors.into_iter().map(syntax_error).collect());
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    each_list(&mut feature, |scenarios| tag_with_comments(scenarios, &lines));
    let mut rows = Vec::new();
    each_list(&mut feature, |scenarios| {
        rows.push(rows_of(scenarios, &lines));
        *scenarios = std::mem::take(scenarios).into_iter().flat_map(one_row_each).collect();
    });
    let mut feature = feature.expand_examples().map_err(|error| {
        let message = format!("the examples lack a value for `{}`", error.name);
        vec![syntax_error((error.pos.line, error.pos.col, message))]
    })?;
    let mut rows = rows.into_iter();
    each_list(&mut feature, |scenarios| {
        tag_rows(scenarios, rows.next().unwrap_or_default());
        tag_with_names(scenarios);
    });
    let rules = feature.rules.iter_mut().flat_map(|rule| {
        let background = rule.background.iter_mut().flat_map(|background| &mut background.steps);
        background.chain(rule.scenarios.iter_mut().flat_map(|scenario| &mut scenario.steps))
    });
    let background = feature.background.iter_mut().flat_map(|background| &mut background.steps);
    let own = feature.scenarios.iter_mut().flat_map(|scenario| &mut scenario.steps);
    for step in background.chain(own).chain(rules) {
        step.ty = catalogue::alias(&step.value).unwrap_or(step.ty);
    }
    Ok(feature)
}

/// Passes the scenarios of the feature, and then those of each rule, to `change`.
fn each_list(feature: &mut Feature, mut change: impl FnMut(&mut Vec<Scenario>)) {
    change(&mut feature.scenarios);
    feature.rules.iter_mut().for_each(|rule| change(&mut rule.scenarios));
}

/// Adds the ids in comments above scenarios (`# @case_id OCP-22606`, `# OTA-1321`) to their tags.
fn tag_with_comments(scenarios: &mut [Scenario], lines: &[&str]) {
    for scenario in scenarios {
        scenario.tags.extend(ids_above(lines, scenario.position.line));
    }
}

/// Returns the ids in the comments above a line; tag lines may come between.
fn ids_above(lines: &[&str], line: usize) -> Vec<String> {
    let above = lines.get(..line.saturating_sub(1)).unwrap_or_default();
    let above = above.iter().rev().take_while(|line| line.starts_with(['#', '@']));
    above.filter(|line| line.starts_with('#')).flat_map(|line| ids(line)).collect()
}

fn ids(text: &str) -> Vec<String> {
    text.split([' ', ',', ':']).filter(|word| is_id(word)).map(str::to_owned).collect()
}

/// Returns the future source of each scenario after the expansion of examples. For a row it is the line, and
/// the ids in comments above it or at its end; `None` for a scenario without examples.
fn rows_of(scenarios: &[Scenario], lines: &[&str]) -> Vec<Option<(usize, Vec<String>)>> {
    let scenario_rows = |scenario: &Scenario| {
        let tables = scenario.examples.iter().filter_map(|examples| examples.table.as_ref());
        let rows = tables.flat_map(|table| {
            let all = (table.position.line..=lines.len()).filter(|line| lines[line - 1].starts_with('|'));
            all.skip(1).take(table.rows.len().saturating_sub(1))
        });
        let row_ids = |line: usize| {
            let behind = lines[line - 1].rsplit_once('|').map_or("", |(_, behind)| behind.trim());
            let behind = ids(if behind.starts_with('#') { behind } else { "" });
            Some((line, [ids_above(lines, line), behind].concat()))
        };
        if scenario.examples.is_empty() { vec![None] } else { rows.map(row_ids).collect() }
    };
    scenarios.iter().flat_map(scenario_rows).collect()
}

/// Splits a scenario into one for each row of its examples. Cucumber expands a scenario into copies that keep all examples, which
/// are as many rows as there are copies.
fn one_row_each(mut scenario: Scenario) -> Vec<Scenario> {
    if scenario.examples.is_empty() {
        return vec![scenario];
    }
    let of_table = |mut examples: Examples| {
        let mut rows = examples.table.take().map(|table| table.rows).unwrap_or_default().into_iter();
        let head = rows.next().unwrap_or_default();
        let tables = rows.map(move |row| Table::builder().rows(vec![head.clone(), row]).build());
        tables.map(move |table| Examples { table: Some(table), ..examples.clone() })
    };
    let single: Vec<Examples> =
        std::mem::take(&mut scenario.examples).into_iter().flat_map(of_table).collect();
    single.into_iter().map(|examples| Scenario { examples: vec![examples], ..scenario.clone() }).collect()
}

/// Sets line and ids of scenarios that come from rows of examples. The parser's own lines are wrong if there
/// are comments between rows.
fn tag_rows(scenarios: &mut [Scenario], rows: Vec<Option<(usize, Vec<String>)>>) {
    for (scenario, row) in scenarios.iter_mut().zip(rows) {
        let Some((line, ids)) = row else { continue };
        scenario.position.line = line;
        scenario.tags.extend(ids);
    }
}

/// Adds the ids in the names of scenarios to their tags, so that tag filters find them.
fn tag_with_names(scenarios: &mut [Scenario]) {
    for scenario in scenarios {
        let mut own = ids(&scenario.name);
        own.retain(|id| !scenario.tags.contains(id));
        scenario.tags.append(&mut own);
    }
}

/// Parses steps without a feature around them, such as a doc string. The first step may have any keyword.
///
/// # Errors
/// All errors, by lines of the text.
pub(super) fn steps(text: &str) -> Result<Vec<Step>, String> {
    const HEAD: &str = "Feature: f\n  Scenario: s\n    Given a\n";
    let feature = parse_feature("", &format!("{HEAD}{text}\n")).map_err(|errors| {
        let lines = errors.iter().map(|syntax_error| {
            let line = syntax_error.line.saturating_sub(HEAD.lines().count()).max(1);
            format!("line {line} of the doc string: {}", syntax_error.message)
        });
        lines.collect::<Vec<_>>().join("; ")
    })?;
    let scenario = feature.scenarios.into_iter().next();
    Ok(scenario.map(|scenario| scenario.steps.into_iter().skip(1).collect()).unwrap_or_default())
}

/// Returns the path of a feature, as the user typed it.
pub(super) fn file(feature: &Feature) -> String {
    feature.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
}

/// Returns the tags of a scenario, its rule and its feature.
pub(super) fn tags<'f>(
    feature: &'f Feature,
    rule: Option<&'f Rule>,
    scenario: &'f Scenario,
) -> impl Iterator<Item = &'f String> + Clone {
    feature.tags.iter().chain(rule.into_iter().flat_map(|rule| &rule.tags)).chain(&scenario.tags)
}

/// Returns all scenarios, including those of rules.
pub(super) fn scenarios(feature: &Feature) -> impl Iterator<Item = &Scenario> {
    scenarios_with_rules(feature).map(|(_, scenario)| scenario)
}

/// Returns all scenarios, each with its rule.
pub(super) fn scenarios_with_rules(feature: &Feature) -> impl Iterator<Item = (Option<&Rule>, &Scenario)> {
    let own = feature.scenarios.iter().map(|scenario| (None, scenario));
    let of_rule = |rule| move |scenario| (Some(rule), scenario);
    own.chain(feature.rules.iter().flat_map(move |rule| rule.scenarios.iter().map(of_rule(rule))))
}

/// Returns all steps of a scenario, those of the backgrounds first; `rule` is the scenario's rule.
pub(super) fn steps_of<'f>(
    feature: &'f Feature,
    rule: Option<&'f Rule>,
    scenario: &'f Scenario,
) -> impl Iterator<Item = &'f Step> {
    let backgrounds = feature.background.iter().chain(rule.and_then(|rule| rule.background.as_ref()));
    backgrounds.flat_map(|background| &background.steps).chain(&scenario.steps)
}

/// Returns errors that the parser ignores: scenarios that check nothing, and rows with a wrong number of
/// cells.
fn incomplete_parts(feature: &Feature, text: &str) -> Vec<layout::SyntaxError> {
    let lines: Vec<layout::Line<'_>> = layout::lines(text).collect();
    let mut errors = Vec::new();
    if scenarios(feature).next().is_none() {
        let place = feature.position;
        let missing = || (place.line, place.col, "the feature has no scenario".to_owned());
        errors.push(misspelt_keyword(&lines).unwrap_or_else(missing));
    }
    for scenario in scenarios(feature) {
        let place = scenario.position;
        let misread = steps_without_keyword(scenario, &lines);
        if scenario.steps.is_empty() && misread.is_empty() {
            errors.push((place.line, place.col, format!("scenario `{}` has no steps", scenario.name)));
        }
        errors.extend(misread);
        if scenario.examples.is_empty() && OUTLINES.contains(&scenario.keyword.trim_end_matches(':')) {
            let message = format!(
                "outline `{}` has no examples: add `Examples:` with a table below its steps, or write `Scenario:`",
                scenario.name
            );
            errors.push((place.line, place.col, message));
        }
        let rows = |table: &Table| table.rows.len().saturating_sub(1);
        let examples = || scenario.examples.iter().filter_map(|examples| examples.table.as_ref());
        if !scenario.examples.is_empty() && examples().map(rows).sum::<usize>() == 0 {
            let message = format!("the examples of `{}` have no rows", scenario.name);
            errors.push((place.line, place.col, message));
        }
        let tables = scenario.steps.iter().filter_map(|step| step.table.as_ref()).chain(examples());
        errors.extend(tables.flat_map(|table| layout::ragged_rows(&lines, table.position.line)));
    }
    errors
}

/// Returns the first line that begins with almost a keyword, such as `Secnario:`.
fn misspelt_keyword(lines: &[layout::Line<'_>]) -> Option<layout::SyntaxError> {
    const KEYWORDS: [&str; 6] =
        ["Scenario", "Scenario Outline", "Scenario Template", "Background", "Example", "Rule"];
    lines.iter().find_map(|(line, column, content)| {
        let (word, _) = content.split_once(':').filter(|(word, _)| !KEYWORDS.contains(word))?;
        let near = nearest(word, KEYWORDS)?;
        Some((*line, *column, format!("no keyword is `{word}:`; did you mean `{near}:`?")))
    })
}

/// Returns the lines of a scenario's description that would be steps if they began with a keyword.
fn steps_without_keyword(scenario: &Scenario, lines: &[layout::Line<'_>]) -> Vec<layout::SyntaxError> {
    let found = described_lines(scenario, lines).filter_map(|(line, column, content)| {
        let (word, rest) = content.split_once(' ')?;
        let keyword = catalogue::matching_keyword(rest)?;
        Some((line, column, format!("no step begins with `{word}`; did you mean `{keyword} {rest}`?")))
    });
    found.collect()
}

/// Returns the lines of a scenario's description, which are below its heading in the same order. Looks at no line below the last
/// of them.
fn described_lines<'t>(
    scenario: &Scenario,
    lines: &[layout::Line<'t>],
) -> impl Iterator<Item = layout::Line<'t>> {
    let below = lines.get(scenario.position.line..).unwrap_or_default();
    let mut below = below.iter().copied();
    let description = scenario.description.as_deref().unwrap_or_default();
    let described = description.lines().map(str::trim).filter(|content| !content.is_empty());
    described.map_while(move |described| below.find(|(.., content)| *content == described))
}

/// Returns position and message of a parse error. The parser lists the expected tokens in any order, and most
/// of them are internal names.
fn describe_parse_error(error: &str) -> layout::SyntaxError {
    let rest = error.strip_prefix("Error at ").unwrap_or(error);
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.trim().parse().ok()).unwrap_or(1);
    let (line, column) = (number(), number());
    // The rest is a set of quoted texts, JSON except for its braces.
    let list = parts.next().unwrap_or_default().trim().trim_matches(['{', '}']);
    let mut expected: Vec<String> = serde_json::from_str(&format!("[{list}]")).unwrap_or_default();
    expected.retain(|what| what.starts_with('"') || what.contains("row"));
    expected.sort_unstable();
    let expected = if expected.is_empty() {
        "a keyword such as `Scenario:`, or a row such as `| a | b |`,".to_owned()
    } else {
        expected.join(" or ")
    };
    (line, column, format!("this is not Gherkin: expected {expected} here or in the line before"))
}

/// Returns, for each step that runs a command, whether the checks right after it expect a rejection.
pub(super) fn rejections<'f>(steps: impl Iterator<Item = &'f Step>) -> VecDeque<bool> {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| definitions::regex(r#"{at}I run "(.+)""#));
    let mut rejections = VecDeque::new();
    let mut follows_command = false;
    for step in steps {
        if COMMAND.is_match(&step.value) {
            rejections.push_back(false);
            follows_command = true;
        } else if !step.value.starts_with("it ") {
            follows_command = false;
        } else if step.value.starts_with("it is refused ") || step.value.starts_with("it exits ") {
            rejections.back_mut().into_iter().filter(|_| follows_command).for_each(|refused| *refused = true);
        }
    }
    rejections
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `text` and compares its errors, one per line, without the file's name.
    fn check(text: &str, expected: &str) {
        let found = match parse_feature("f", text) {
            Ok(_) => String::new(),
            Err(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                lines.join("\n").replace("f:", "")
            }
        };
        assert_eq!(found, expected, "\n{text}");
    }

    #[test]
    fn parses_a_byte_order_mark_crlf_and_other_languages() {
        check("\u{feff}Feature: f\r\n  Scenario: s\r\n    Given a\r\n", "");
        check("# language: de\nFunktionalität: f\n  Szenario: s\n    Wenn a\n", "");
    }

    #[test]
    fn each_line_is_looked_at_once_however_many_scenarios_and_tables_there_are() {
        let scenario =
            "  Scenario: s\n    Of\n    When a\n      | a |\n    Examples:\n      | a |\n      | 1 |\n";
        let text = format!("Feature: f\n{}", scenario.repeat(100));
        layout::tests::SCANNED.set(0);
        assert!(parse_feature("f", &text).is_ok());
        assert_eq!(layout::tests::SCANNED.get(), text.lines().count());
    }

    #[test]
    fn rejects_features_without_scenarios_steps_or_rows() {
        check("Feature: f\n", "1:1: the feature has no scenario");
        check("Feature: f\n  Given a\n", "1:1: the feature has no scenario");
        check(
            "Feature: f\n  Secnario: s\n    Given a\n",
            "2:3: no keyword is `Secnario:`; did you mean `Scenario:`?",
        );
        check("Feature: f\n  Scenario: s\n  Scenario: t\n    When a\n", "2:3: scenario `s` has no steps");
        check("Feature: f\n  Scenario: s\n    The story.\n", "2:3: scenario `s` has no steps");
        check(
            "Feature: f\n  Scenario: r\n    When a\n\n  Scenario Outline: s\n    When <a>\n",
            "5:3: outline `s` has no examples: add `Examples:` with a table below its steps, or write `Scenario:`",
        );
        check(
            "Feature: f\n  Scenario Outline: s\n    When <a>\n    Examples:\n      | a |\n",
            "2:3: the examples of `s` have no rows",
        );
        check(
            "Feature: f\n  Scenario Outline: s\n    When <a>\n    Examples:\n      | b |\n      | 1 |\n",
            "3:5: the examples lack a value for `a`",
        );
    }

    #[test]
    fn reports_steps_that_are_read_as_a_description() {
        let hint = "no step begins with `Give`; did you mean `Given a 4.18.3 cluster`?";
        check("Feature: f\n  Scenario: s\n    Give a 4.18.3 cluster\n", &format!("3:5: {hint}"));
        check(
            "Feature: f\n  Scenario: s\n    A story.\n    Give a 4.18.3 cluster\n    When a\n",
            &format!("4:5: {hint}"),
        );
        check("Feature: f\n  Scenario: s\n    Of a 4.18 cluster\n    When I wait\n", "");
        check(
            "Feature: f\n  Scenario: s\n    A story.\n\n    # Give a 4.18.3 cluster\n    Give a 4.18.3 cluster\n    Give a 4.18.3 cluster\n\
             \n  Scenario: t\n    When a\n",
            &format!("6:5: {hint}\n7:5: {hint}"),
        );
    }

    /// Returns the lines of scenarios with their tags.
    fn tags(text: &str) -> Vec<String> {
        let feature = parse_feature("f", text).unwrap();
        let scenarios = scenarios(&feature);
        scenarios.map(|scenario| format!("{}: {}", scenario.position.line, scenario.tags.join(" "))).collect()
    }

    #[test]
    fn ids_in_names_and_comments_become_tags_of_scenarios_and_rows() {
        let outline = "    Scenario Outline: <case>\n      When a\n      Examples:\n        | case |\n        | OCP-1:ota |\n\
                       \n        # @case_id OCP-2\n        | b |\n        # OTA-3 and OTA-4\n        | OTA-3: c |\n";
        let feature = format!(
            "Feature: f\n  # OCP-7\n  @x\n  Scenario: OTA-8, OCP-9\n    When a\n  Rule: r\n{outline}\n      Examples:\n        | case |\n        | d |\n"
        );
        let expected = ["4: x OCP-7 OTA-8 OCP-9", "11: OCP-1", "14: OCP-2", "16: OTA-3 OTA-4", "20: "];
        assert_eq!(tags(&feature), expected);
    }

    #[test]
    fn a_scenario_of_a_row_keeps_no_other_rows() {
        let text = "Feature: f\n  Scenario Outline: <a>\n    When <a>\n    Examples:\n      | a |\n      | 1 |\n      | 2 |\n\
                    \n    Examples:\n      | a |\n      | 3 |\n";
        let feature = parse_feature("f", text).unwrap();
        let names: Vec<&str> = scenarios(&feature).map(|scenario| &*scenario.name).collect();
        assert_eq!(names, ["1", "2", "3"]);
        let rows = |scenario: &Scenario| scenario.examples[0].table.as_ref().unwrap().rows.len();
        assert!(scenarios(&feature).all(|scenario| scenario.examples.len() == 1 && rows(scenario) == 2));
    }

    #[test]
    fn rejects_rows_with_a_wrong_number_of_cells() {
        let feature = |row: &str| format!("Feature: f\n  Scenario: s\n    When a\n      | a | b |\n{row}\n");
        check(&feature("      | 1 | 2 |"), "");
        check(&feature("      | 1 | \\|2 |"), "");
        check(&feature("      # | 1 |\n      | 1 | |"), "");
        check(&feature("      | 1 | 2 | 3 |"), "5:7: expected 2 cells as in the first row, found 3");
        check(&feature("      | 1 |"), "5:7: expected 2 cells as in the first row, found 1");
    }
}
