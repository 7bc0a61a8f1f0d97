//! JUnit files have the structure that the readers of CI systems accept. The structures are described here from
//! what the readers do: the `junit` plugin of Jenkins, and Spyglass of Prow.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::events::{BytesStart, Event};

use super::environment::TestEnvironment;
use super::scenarios::{CALM, WRONG};

/// The value of an attribute.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    /// A whole number.
    Count,
    /// Seconds as a decimal number without a sign or separators.
    Seconds,
    /// Date and time without fractions and zone.
    Moment,
}

/// An element: its name, the required and the optional attributes, and its children.
type Element =
    (&'static str, &'static [(&'static str, Kind)], &'static [(&'static str, Kind)], &'static [&'static str]);

/// The `junit` plugin of Jenkins: one outcome per test case, times as decimal numbers. Spyglass parses the same times
/// and counts; a value that is no number makes it drop the whole file.
const JENKINS: &[Element] = &[
    (
        "testsuites",
        &[],
        &[
            ("name", Kind::Text),
            ("tests", Kind::Count),
            ("failures", Kind::Count),
            ("errors", Kind::Count),
            ("skipped", Kind::Count),
            ("time", Kind::Seconds),
        ],
        &["testsuite"],
    ),
    (
        "testsuite",
        &[("name", Kind::Text), ("tests", Kind::Count)],
        &[
            ("failures", Kind::Count),
            ("errors", Kind::Count),
            ("skipped", Kind::Count),
            ("time", Kind::Seconds),
            ("timestamp", Kind::Moment),
            ("hostname", Kind::Text),
            ("id", Kind::Text),
        ],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    (
        "testcase",
        &[("name", Kind::Text), ("classname", Kind::Text)],
        &[("time", Kind::Seconds)],
        &["properties", "skipped", "error", "failure", "system-out", "system-err"],
    ),
    ("properties", &[], &[], &["property"]),
    ("property", &[("name", Kind::Text), ("value", Kind::Text)], &[], &[]),
    ("failure", &[], &[("message", Kind::Text), ("type", Kind::Text)], &[]),
    ("error", &[], &[("message", Kind::Text), ("type", Kind::Text)], &[]),
    ("skipped", &[], &[("message", Kind::Text)], &[]),
    ("system-out", &[], &[], &[]),
    ("system-err", &[], &[], &[]),
];

/// The children of a test case of which Spyglass keeps one each.
const SPYGLASS_ONCE: &[&str] = &["failure", "error", "skipped", "system-out", "system-err", "properties"];

impl Kind {
    fn accepts(self, value: &str) -> bool {
        let matches = |pattern: &str| regex::Regex::new(pattern).unwrap().is_match(value);
        match self {
            Self::Text => true,
            Self::Count => matches(r"^\d+$"),
            Self::Seconds => matches(r"^\d+(\.\d+)?$"),
            Self::Moment => matches(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"),
        }
    }
}

/// Checks a file against both structures, and returns the names of its test cases, each with its class.
fn check(xml: &str) -> Vec<(String, String)> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut open: Vec<(String, BTreeMap<String, usize>)> = vec![(String::new(), BTreeMap::new())];
    let mut cases = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                let name = check_start(&start, &mut open, &mut cases);
                open.push((name, BTreeMap::new()));
            }
            Event::Empty(start) => drop(check_start(&start, &mut open, &mut cases)),
            Event::End(_) => check_end(&open.pop().unwrap()),
            Event::Eof => break,
            _ => (),
        }
    }
    assert_eq!(open[0].1, BTreeMap::from([("testsuites".to_owned(), 1)]));
    cases
}

/// Checks an element without its children, and counts it in its parent.
fn check_start(
    start: &BytesStart<'_>,
    open: &mut [(String, BTreeMap<String, usize>)],
    cases: &mut Vec<(String, String)>,
) -> String {
    let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
    let (_, required, optional, _) = element(&name);
    let attributes: BTreeMap<String, String> = start
        .attributes()
        .map(|attribute| {
            let attribute = attribute.unwrap();
            let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
            let raw = String::from_utf8(attribute.value.to_vec()).unwrap();
            (key, quick_xml::escape::unescape(&raw).unwrap().into_owned())
        })
        .collect();
    for (attribute, _) in *required {
        assert!(attributes.contains_key(*attribute), "{name} needs {attribute}");
    }
    let known: Vec<_> = required.iter().chain(*optional).collect();
    for (attribute, value) in &attributes {
        let kind = known.iter().find(|(known, _)| known == attribute).map(|(_, kind)| *kind);
        assert!(kind.is_some_and(|kind| kind.accepts(value)), "{name} {attribute}={value}");
    }
    let (parent, children) = open.last_mut().unwrap();
    assert!(parent.is_empty() || element(parent).3.contains(&&*name), "{parent} has no child {name}");
    *children.entry(name.clone()).or_default() += 1;
    if name == "testcase" {
        cases.push((attributes["classname"].clone(), attributes["name"].clone()));
    }
    name
}

/// Checks the numbers of children.
fn check_end((name, children): &(String, BTreeMap<String, usize>)) {
    if name == "testcase" {
        for once in SPYGLASS_ONCE {
            assert!(children.get(*once).is_none_or(|count| *count == 1), "{once}: {children:?}");
        }
        let outcomes = ["failure", "error", "skipped"].iter().filter(|child| children.contains_key(**child));
        assert!(outcomes.count() <= 1, "one outcome: {children:?}");
    }
}

fn element(name: &str) -> &'static Element {
    JENKINS.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("unknown element {name}"))
}

#[test]
fn files_have_the_structure_that_jenkins_and_spyglass_accept() {
    let skipped = "name: later\ncluster: {version: 4.20.1}\ntimeline: [clear-update]\n";
    let environment = TestEnvironment::with(&[
        ("s/calm.yaml", CALM),
        ("s/a/calm.yaml", CALM),
        ("s/invalid.yaml", "name: <\n"),
        ("s/wrong.yaml", WRONG),
        ("s/z.yaml", skipped),
    ]);
    for per in ["scenario", "step"] {
        environment.run(&[
            "run",
            "--quiet",
            "--fail-fast",
            "-j1",
            "--junit",
            "j.xml",
            "--junit-per",
            per,
            "s",
        ]);
        let xml = environment.read("j.xml");
        let cases = check(&xml);
        let distinct: BTreeSet<&(String, String)> = cases.iter().collect();
        assert_eq!(distinct.len(), cases.len(), "names are unique: {cases:?}");
        for expected in
            ["<failure ", "<error ", "<skipped ", "the end of the timeline:", "The cluster is not updating."]
        {
            assert!(xml.contains(expected), "{expected}: {xml}");
        }
        assert!(xml.contains("run it again: windtunnel run s/wrong.yaml --seed 1"), "{xml}");
    }
    let upgrade = environment.run(&["run", "--quiet", "--junit-upgrade", "u.xml", "s/wrong.yaml"]);
    assert_eq!(upgrade.code, Some(1), "{upgrade}");
    check(&environment.read("u.xml"));
}

#[test]
#[should_panic(expected = "testcase time=1,000.5")]
fn a_time_with_a_separator_is_rejected() {
    check(
        r#"<testsuites><testsuite name="a" tests="1"><testcase name="b" classname="c" time="1,000.5"/></testsuite></testsuites>"#,
    );
}
