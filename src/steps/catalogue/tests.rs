//! Tests that the catalogue is complete and that lookups find steps.

use std::fs;
use std::path::Path;

use cucumber::gherkin::{Feature, GherkinEnv, Step, Table};
use regex_syntax::ast::Ast;
use regex_syntax::ast::parse::Parser;

use super::*;
use crate::steps::world::ClusterWorld;
use crate::steps::{definitions, dry_run};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Returns a step of a feature with this text, a doc string and a table.
fn feature_step(keyword: &str, text: &str) -> Step {
    let feature = format!("Feature: f\n  Scenario: s\n    {keyword} {text}\n");
    let feature = Feature::parse(feature, GherkinEnv::default()).unwrap();
    let table = Table::builder().rows(vec![vec!["app=etcd".to_owned()]]).build();
    Step { docstring: Some("a".to_owned()), table: Some(table), ..feature.scenarios[0].steps[0].clone() }
}

#[test]
fn every_step_has_an_example_that_only_its_pattern_matches() {
    let registered = definitions::collection();
    for step in steps(None) {
        assert!(!step.text.is_empty(), "`{}` has no description", step.pattern);
        assert!(!step.examples.is_empty(), "`{}` has no example", step.pattern);
        for example in &step.examples {
            assert!(step.pattern.is_match(example), "`{example}` is not `{}`", step.pattern);
            assert!(registered.find(&feature_step(step.keyword, example)).unwrap().is_some(), "{example}");
        }
    }
}

/// Adds the words of each choice in a pattern by the numbers of their groups, as far as these are plain text.
fn choices(ast: &Ast, found: &mut Vec<(usize, Vec<String>)>) {
    match ast {
        Ast::Group(group) => {
            if let (Some(index), Ast::Alternation(choice)) = (group.capture_index(), &*group.ast) {
                let words = choice.asts.iter().map(ToString::to_string);
                let is_plain = |word: &String| !word.contains(['\\', '[', '(', '.', '?', '"']);
                found.push((index as usize, words.filter(is_plain).collect()));
            }
            choices(&group.ast, found);
        }
        Ast::Concat(parts) => parts.asts.iter().for_each(|part| choices(part, found)),
        Ast::Alternation(parts) => parts.asts.iter().for_each(|part| choices(part, found)),
        Ast::Repetition(repeated) => choices(&repeated.ast, found),
        _ => {}
    }
}

#[test]
fn every_word_of_a_pattern_makes_a_step() {
    let registered = definitions::collection();
    for step in steps(None) {
        let mut found = Vec::new();
        choices(&Parser::new().parse(step.pattern.as_str()).unwrap(), &mut found);
        for (group, words) in found.into_iter().filter(|(_, words)| !words.is_empty()) {
            let place = |example: &String| {
                Some((example.clone(), step.pattern.captures(example)?.get(group)?.range()))
            };
            let (example, place) = step
                .examples
                .iter()
                .find_map(place)
                .unwrap_or_else(|| panic!("no example of `{}` has one of {words:?}", step.pattern));
            for word in words {
                let text = format!("{}{word}{}", &example[..place.start], &example[place.end..]);
                let mut world = ClusterWorld::for_dry_run("f", None);
                world.plan("4.20.1").unwrap();
                for version in ["4.20.3", "4.20.4"] {
                    world.release(version).unwrap();
                }
                let problem = dry_run::try_step(&registered, &mut world, &feature_step(step.keyword, &text));
                assert_eq!(problem, None, "{text}");
            }
        }
    }
}

#[test]
fn lists_every_module_with_steps() {
    let folder = Path::new(ROOT).join("src/steps/definitions");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(source) = fs::read_to_string(&path) else { continue };
        let defined = source.lines().filter(|line| keyword_of(line).is_some()).count();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let parsed = MODULES.iter().find(|(module, _)| *module == name);
        let parsed = parsed.map_or(0, |(module, source)| topic(module, source).steps.len());
        assert_eq!(parsed, defined, "{name}");
    }
}

#[test]
fn docs_steps_md_is_up_to_date() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/steps.md")).unwrap_or_default();
    assert!(page == markdown(), "docs/steps.md is outdated: cargo run -- steps --markdown > docs/steps.md");
}

#[test]
fn the_nearest_example_ignores_the_time_limit() {
    let check = |text: &str, expected: &str| {
        let found = example_like("Then", text).unwrap_or_default();
        assert!(found.contains(expected), "{text}: {found}");
    };
    check("within 2h ClusterVersion condition Progressing is False", "ClusterVersion condition Progressing");
    check("ClusterVersion condition Progressing is false", "ClusterVersion condition Progressing");
    check("throughout 5 minutes clusterversion field \"a\" is \"b\"", "ClusterVersion field");
    check("the output should contains \"a\"", "the output should contain");
    check("within 5 minutes Pod/a/b has the status \"Running\"", "has status");
}

#[test]
fn finds_a_step_and_its_values_with_any_keyword() {
    for begin in ["When ", "And ", "", "  * "] {
        let Lookup::Step(step, values) = find(&format!("{begin}I update to 4.14.8 by force")) else {
            panic!("{begin}: not found");
        };
        assert_eq!((step.keyword, values), ("When", vec!["4.14.8".to_owned(), " by force".to_owned()]));
    }
}

#[test]
fn suggests_the_nearest_step_for_an_unknown_one() {
    let Lookup::Nearest(like) = find("I upgrade to 4.14.8") else { panic!("there is no such step") };
    assert!(like[0].1.starts_with("I update to"), "{like:?}");
}

#[test]
fn suggests_a_step_by_its_other_wordings() {
    for (text, example) in [
        ("the upgrade is finished", "within 3 hours the update is complete"),
        ("I upgrade the cluster", "I update to 4.14.8"),
        ("pool worker is paused", "I pause pool worker"),
        ("I downgrade the cluster", "I roll back"),
        ("I wait for 40 minutes", "40 minutes pass"),
    ] {
        let Lookup::Nearest(like) = find(text) else { panic!("{text} is a step") };
        assert_eq!(like.first().map(|(_, example)| *example), Some(example), "{text}: {like:?}");
    }
    assert!(matches!(find("within 3 hours the update is complete"), Lookup::Step(..)));
}
