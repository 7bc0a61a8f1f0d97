//! `--html`.

use super::environment::TestEnvironment;
use super::scenarios::{STALLED, WRONG};

/// How often a text occurs in a page.
fn count(page: &str, text: &str) -> usize {
    page.matches(text).count()
}

#[test]
fn a_page_contains_each_scenario_and_the_reason_of_a_failure() {
    let environment = TestEnvironment::with(&[("a b/stalled.yaml", STALLED), ("wrong.yaml", WRONG)]);
    let run =
        |page: &str| environment.run(&["run", "--quiet", "--html", page, "a b", "wrong.yaml", "--seed", "7"]);
    let output = run("page.html");
    assert_eq!(output.code, Some(1), "{output}");
    let page = environment.read("page.html");
    assert_eq!(count(&page, "<details class=\"scenario "), 2);
    for text in [
        "<title>windtunnel run: 1 passed, 1 failed</title>",
        "<h2>a non-existent digest</h2>",
        "<h2>a wrong expectation</h2>",
        "<span class=\"id\">OCP-22641</span>",
        "wrong.yaml:6:3",
        "seen: Progressing=False",
        "The cluster is not updating.",
        "<code>windtunnel run &#x27;a b&#x2f;stalled.yaml&#x27; --seed 7</code>",
        "<code>windtunnel run wrong.yaml --seed 7</code>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The page loads nothing, and does not depend on the wall clock.
    assert_eq!((count(&page, " src="), count(&page, "<link"), count(&page, "url(")), (0, 0, 0));
    run("repeated.html");
    assert_eq!(environment.read("repeated.html"), page);
}

#[test]
fn the_pages_of_a_record_and_of_its_run_are_equal() {
    let environment = TestEnvironment::with(&[("wrong.yaml", WRONG)]);
    environment.run(&["run", "--quiet", "--record", "r.jsonl", "--html", "run.html", "wrong.yaml"]);
    let output = environment.run(&["report", "r.jsonl", "--html", "report.html"]);
    assert_eq!(output.code, Some(1), "{output}");
    let timeline = |page: &str| {
        let text = environment.read(page);
        let (_, rest) = text.split_once("<script type=\"text/plain\">").unwrap();
        rest.split_once("</script>").unwrap().0.to_owned()
    };
    assert_eq!(timeline("report.html"), timeline("run.html"));
}

#[test]
fn a_page_that_cannot_be_written_is_reported() {
    let environment = TestEnvironment::with(&[("s.yaml", STALLED), ("file", "")]);
    let output = environment.run(&["run", "--quiet", "--html", "file/page.html", "s.yaml"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(output.stderr, "error: file/page.html: cannot be written: file is no folder\n", "{output}");
}

#[cfg(feature = "gherkin")]
#[test]
fn a_page_shows_features() {
    const FEATURE: &str = "Feature: Updates\n  Scenario: calm <b>\n    Given a 4.20.1 cluster\n    When 1 minute passes\n  \
                           Scenario: wrong\n    Given a 4.20.1 cluster\n    \
                           Then ClusterVersion condition Progressing is True\n";
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    let output = environment.run(&["test", "--html", "page.html", "f.feature"]);
    assert_eq!(output.code, Some(1), "{output}");
    let page = environment.read("page.html");
    assert_eq!(count(&page, "<details class=\"scenario "), 2);
    for text in
        ["<h2>calm &lt;b&gt;</h2>", "<h2>wrong</h2>", "f.feature:7:5", "windtunnel test f.feature --seed 1"]
    {
        assert!(page.contains(text), "{text}");
    }
}
