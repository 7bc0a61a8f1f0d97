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
        for example in step.examples {
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

/// Returns the cluster and the steps of a plan that a step makes.
fn made(keyword: &str, text: &str) -> String {
    let mut world = ClusterWorld::for_dry_run("f", None);
    world.plan("4.20.1").unwrap();
    for version in ["4.20.3", "4.20.4"] {
        world.release(version).unwrap();
    }
    let step = feature_step(keyword, text);
    let (error, planned) = world.collecting(|world| dry_run::try_step(world, &step));
    assert_eq!(error, None, "{text}");
    let steps: Vec<_> = planned.into_iter().map(|planned| planned.step).collect();
    format!("{:?} {steps:?}", world.into_cluster())
}

#[test]
fn every_word_of_a_pattern_makes_another_step() {
    for step in steps(None) {
        let mut found = Vec::new();
        choices(&Parser::new().parse(step.pattern.as_str()).unwrap(), &mut found);
        for (group, words) in found {
            let mut others = BTreeSet::new();
            let place = |example: &&'static str| {
                Some((*example, step.pattern.captures(example)?.get(group)?.range()))
            };
            let example = step.examples.iter().find_map(place);
            for word in words {
                let (example, place) = example.clone().unwrap_or_else(|| panic!("no example has `{word}`"));
                let text = format!("{}{word}{}", &example[..place.start], &example[place.end..]);
                assert!(others.insert(made(step.keyword, &text)), "`{word}` means nothing: {text}");
            }
        }
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
fn suggests_a_step_about_the_same_thing() {
    for (text, thing) in [
        ("the alert \"KubeNodeNotReady\" is raised", "alert"),
        ("Then alert \"ClusterOperatorDown\" goes off", "alert"),
        ("When node worker-0 is switched off", "node"),
        ("Then node worker-0 has been restarted 2 times", "node"),
        ("When I stop pool worker", "pool"),
    ] {
        let Lookup::Nearest(like) = find(text) else { panic!("{text} is a step") };
        let first = like.first().map(|(_, example)| *example).unwrap_or_default();
        assert!(first.contains(thing), "{text}: {like:?}");
    }
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
