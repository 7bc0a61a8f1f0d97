//! Alert and recording rules of real operators: whether each of their expressions parses and evaluates.

use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml;

use crate::monitoring::metrics::Moment;
use crate::promql;

/// Why an expression cannot be used; `None` if it can.
fn problem(text: &str) -> Option<String> {
    let expr = match promql::parse(text) {
        Ok(expr) => expr,
        Err(error) => {
            let (line, column) = error.position(text);
            return Some(format!("{line}:{column}: {error}"));
        }
    };
    let view = View::default();
    promql::evaluate(&expr, &Moment::of(&view, Time::constant(1_700_000_000, 0))).err()
}

#[test]
#[ignore = "needs a folder with manifests in WINDTUNNEL_RULES"]
fn every_expression_of_real_rules_parses_and_evaluates() {
    let folder = std::env::var_os("WINDTUNNEL_RULES").expect("WINDTUNNEL_RULES is not set");
    let (mut count, mut problems) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // A template is no YAML.
        let objects: Vec<Value> = yaml::from_str_multi(&text).unwrap_or_default();
        let groups = objects.iter().filter_map(|object| object["spec"]["groups"].as_array()).flatten();
        for rule in groups.filter_map(|group| group["rules"].as_array()).flatten() {
            count += 1;
            let expr = rule["expr"].as_str().map_or_else(|| rule["expr"].to_string(), str::to_owned);
            problems.extend(problem(&expr).map(|why| format!("{}: {why}: {expr}", path.display())));
        }
    }
    assert!(problems.is_empty(), "{} of {count} expressions:\n{}", problems.len(), problems.join("\n"));
    assert!(count > 0, "the folder has no rules");
}
