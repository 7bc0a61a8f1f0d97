//! Expressions and their values.

use std::sync::LazyLock;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::{Labels, Metrics, Sample, SampleCollector, Value, evaluate, parse, valid_until};

fn labels(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Invented metrics at 100 seconds after the epoch; `up` was scraped three times before.
struct TestMetrics;

impl Metrics for TestMetrics {
    fn collect(&self, metric: &str, taken: &mut SampleCollector<'_>) {
        let series: &[(&[(&str, &str)], f64)] = match metric {
            "provider" => &[(&[("type", "AWS"), ("region", "here")], 1.0)],
            "objects" => &[
                (&[("resource", "pods")], 30.0),
                (&[("resource", "nodes")], 6.0),
                (&[("resource", "secrets")], 9.0),
            ],
            "node" => &[
                (&[("name", "a"), ("role", "master")], 1.0),
                (&[("name", "b"), ("role", "worker")], 2.0),
                (&[("name", "c"), ("role", "worker")], 3.0),
            ],
            "role_weight" => &[(&[("role", "worker"), ("note", "w")], 10.0), (&[("role", "master")], 100.0)],
            "up" => &[(&[("job", "a")], 1.0), (&[("job", "b")], 1.0)],
            _ => &[],
        };
        for (labels, value) in series {
            taken.add(labels, *value);
        }
    }

    fn earlier(&self, metric: &str, span: SignedDuration) -> Vec<&[Sample]> {
        static SCRAPES: LazyLock<[[Sample; 1]; 3]> = LazyLock::new(|| {
            [0.0, 1.0, 0.0].map(|value| [Sample { labels: labels(&[("job", "a")]), value }])
        });
        static ENDED: LazyLock<[Sample; 1]> =
            LazyLock::new(|| [Sample { labels: labels(&[("job", "z")]), value: 7.0 }]);
        if metric == "ended" {
            return vec![ENDED.as_slice()];
        }
        let scraped = if metric == "up" { usize::try_from(span.as_mins()).unwrap().min(3) } else { 0 };
        SCRAPES[3 - scraped..].iter().map(<[Sample; 1]>::as_slice).collect()
    }

    fn now(&self) -> Time {
        Time::constant(100, 0)
    }
}

/// The value in one line: samples with their labels, or the error.
fn shown(text: &str) -> String {
    let show = |sample: &Sample| {
        let labels: Vec<String> =
            sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}:{}", labels.join(","), sample.value)
    };
    let parsed = parse(text).map_err(|error| error.to_string());
    match parsed.and_then(|expr| evaluate(&expr, &TestMetrics)) {
        Ok(Value::Scalar(number)) => number.to_string(),
        Ok(Value::Vector(samples)) => samples.iter().map(show).collect::<Vec<_>>().join(" "),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn matchers_match_whole_values_and_missing_labels_are_empty() {
    assert_eq!(shown(r#"provider{_id="",type=~"AWS|GCP"}"#), "__name__=provider,region=here,type=AWS:1");
    assert_eq!(shown(r#"provider{type=~"A"}"#), "");
    assert_eq!(shown(r#"provider{type!~"A.*"}"#), "");
    assert_eq!(
        shown(r#"objects{resource!="pods",resource!='nodes'}"#),
        "__name__=objects,resource=secrets:9"
    );
}

#[test]
fn a_risk_evaluates_to_one_or_zero() {
    let risk = |types: &str| {
        format!("topk(1, group(provider{{type=~\"{types}\"}}) or 0 * group(provider)) # a comment")
    };
    assert_eq!(shown(&risk("AWS")), ":1");
    assert_eq!(shown(&risk("GCP")), ":0");
    assert_eq!(shown("group(nothing) or 0 * group(nothing)"), "");
}

#[test]
fn aggregations_group_by_labels() {
    assert_eq!(shown("max by (role) (node)"), "role=master:1 role=worker:3");
    assert_eq!(shown("sum(node) by (role)"), "role=master:1 role=worker:5");
    assert_eq!(shown("count without (name) (node)"), "role=master:1 role=worker:2");
    assert_eq!(shown("min(node)"), ":1");
    assert_eq!(shown("avg by (role) (node)"), "role=master:1 role=worker:2.5");
    assert_eq!(shown("topk(1, group by (role) (node) or 0 * group(node))").matches(":1").count(), 1);
    assert_eq!(
        shown("topk by (role) (1, node)"),
        "__name__=node,name=a,role=master:1 __name__=node,name=c,role=worker:3"
    );
    assert_eq!(shown("bottomk(1, objects)"), "__name__=objects,resource=nodes:6");
}

#[test]
fn set_operators_and_arithmetic_match_by_labels() {
    assert_eq!(shown("node and on (role) role_weight{note='w'}").matches("role=worker").count(), 2);
    assert_eq!(shown("node unless on (role) role_weight{note='w'}"), "__name__=node,name=a,role=master:1");
    assert_eq!(
        shown("node * on (role) group_left (note) role_weight"),
        "name=a,role=master:100 name=b,note=w,role=worker:20 name=c,note=w,role=worker:30"
    );
    assert_eq!(
        shown("role_weight * on (role) node"),
        "error: many-to-many matching not allowed: matching labels must be unique on one side"
    );
    assert_eq!(shown("role_weight - ignoring (note) role_weight"), "role=worker:0 role=master:0");
}

#[test]
fn comparisons_filter_unless_they_return_bool() {
    assert_eq!(shown("objects > 8 < 20"), "__name__=objects,resource=secrets:9");
    assert_eq!(shown("objects > bool 8"), "resource=pods:1 resource=nodes:0 resource=secrets:1");
    assert_eq!(shown("2 + 3 * 4 - -1"), "15");
    assert_eq!(
        shown("role_weight > ignoring (note, name) node{name='a'}"),
        "__name__=role_weight,role=master:100"
    );
    assert_eq!(shown("role_weight > on (role) node{name='a'}"), "role=master:100");
    assert_eq!(shown("1 > 2"), "error: comparisons between scalars must use BOOL modifier");
}

#[test]
fn or_on_no_labels_takes_the_right_side_only_if_the_left_one_is_empty() {
    assert_eq!(shown("min(nothing) or on () 0 * min(node)"), ":0");
    assert_eq!(shown("min(node) or on () 0 * min(objects)"), ":1");
    assert_eq!(shown("provider or on (_id) 0 * group(node)"), "__name__=provider,region=here,type=AWS:1");
    assert_eq!(
        shown("group(node{role='master'}) * on () group_left (type) group by (type) (provider)"),
        "type=AWS:1"
    );
}

#[test]
fn errors_have_the_line_and_column_of_the_first_wrong_token() {
    let position = |text: &str| parse(text).unwrap_err().position(text);
    assert_eq!(position("group(a)\n  or 0 * grup(a)"), (2, 10));
    assert_eq!(position("a{b=~\"(\"}"), (1, 6));
    assert_eq!(position("# é\na{b}"), (2, 4));
    assert_eq!(position("max(a"), (1, 6));
    assert_eq!(position("'é' ; a"), (1, 5));
    assert_eq!(position("a[5x]"), (1, 3));
    assert_eq!(position(""), (1, 1));
    assert_eq!(position("1 + topk(a)"), (1, 5));
}

#[test]
fn a_series_that_ends_is_in_ranges_alone() {
    // `earlier` has three scrapes of job a; the current scrape of `up` has jobs a and b.
    assert_eq!(shown("up{job='c'}"), "");
    assert_eq!(shown("max_over_time(up{job='a'}[3m])"), "job=a:1");
    assert_eq!(shown("max_over_time(ended[3m])"), "job=z:7");
    assert_eq!(shown("ended"), "");
}

#[test]
fn label_replace_changes_labels_that_match_the_pattern() {
    assert_eq!(
        shown(r#"label_replace(provider, "short", "$1", "type", "(.)WS")"#),
        "__name__=provider,region=here,short=A,type=AWS:1"
    );
    assert_eq!(shown(r#"label_replace(provider, "short", "x", "type", "W")"#), shown("provider"));
    assert_eq!(
        shown(r#"label_replace(objects, "resource", "", "resource", ".*")"#),
        "error: vector cannot contain metrics with the same labelset"
    );
    assert_eq!(shown("max_over_time(provider[1h30m])"), "region=here,type=AWS:1");
}

#[test]
fn functions_use_the_current_time_and_ranges() {
    assert_eq!(shown("time() - 40"), "60");
    assert_eq!(shown("changes(up[3m])"), "job=a:3 job=b:0");
    assert_eq!(shown("changes(up{job='a'}[2m])"), "job=a:2");
    assert_eq!(shown("max_over_time(up[1m])"), "job=a:1 job=b:1");
    assert_eq!(shown("absent(up)"), "");
    assert_eq!(shown("absent(up{job='c',x!='y'})"), "job=c:1");
    assert_eq!(shown("absent(up{job='c'} == 1)"), ":1");
    let depends_on_time = |text: &str| parse(text).unwrap().depends_on_time();
    let timely = ["time() - node > 5", "max by (job) (changes(up[2m])) > 2", "-(node + time())"];
    assert!(timely.iter().all(|text| depends_on_time(text)));
    assert!(!depends_on_time("topk(1, group(node) or 0 * group(up))"));
    let metrics = parse("absent(up) or changes(node[1d]) > on (a) up").unwrap();
    let day = SignedDuration::from_hours(24);
    let selected = metrics.selectors().into_iter().map(|selector| (selector.metric(), selector.range()));
    assert_eq!(selected.collect::<Vec<_>>(), [("up", None), ("node", Some(day)), ("up", None)]);
}

#[test]
fn an_age_comparison_is_valid_until_the_next_sample_reaches_the_age() {
    // At 100 s; the values of `objects` are 30, 6 and 9 s.
    let until = |text: &str| valid_until(&parse(text).unwrap(), &TestMetrics).map(Time::as_second);
    let never = Some(Time::MAX.as_second());
    assert_eq!(until("time() - objects >= 80"), Some(110), "the next sample reaches the age");
    assert_eq!(until("time() - objects >= 70"), Some(100), "a sample reaches the age now");
    assert_eq!(until("time() - objects > 95.5"), Some(101), "the first of three, in whole seconds");
    assert_eq!(until("time() - objects >= 70.5"), Some(100));
    assert_eq!(until("time() - objects >= 60"), never, "all samples have reached the age");
    assert_eq!(until("max by (resource) (time() - objects >= 80 and on () up)"), Some(110));
    assert_eq!(until("time() - objects >= 80 or time() - objects{resource='pods'} > 75"), Some(105));
    assert_eq!(until("time() - nothing >= 80"), never);
    assert_eq!(until("objects > 80"), never, "the expression does not use the time");
    for unknown in [
        "time() - objects < 80",
        "time() - objects >= bool 80",
        "objects - time() > 80",
        "max(time() - objects) >= 80",
        "topk(1, time() - objects >= 80)",
        "changes(up[2m]) > 2",
        "time() - objects >= 1e300",
        "time() - objects",
    ] {
        assert_eq!(until(unknown), None, "{unknown}");
    }
}

#[test]
fn reports_invalid_and_unsupported_expressions() {
    assert_eq!(shown("rate(objects[5m])"), "error: unknown function with name \"rate\"");
    assert_eq!(shown("group(provider"), "error: expected \")\", found the end");
    assert_eq!(shown("provider{type=AWS}"), "error: expected a string, found \"AWS\"");
    assert_eq!(shown("provider provider"), "error: expected the end, found \"provider\"");
    assert_eq!(shown("provider[5m]"), "error: a range is only supported as an argument");
    assert_eq!(shown("changes(up)"), "error: changes does not take this kind of vector");
    assert_eq!(shown("changes(up[5x])"), "error: bad number or duration syntax: \"5x\"");
    assert_eq!(shown("time(1)"), "error: time takes 0 arguments, found 1");
    assert_eq!(shown(""), "error: expected an expression, found the end");
    assert_eq!(shown(&"(".repeat(10_000)), "error: nested deeper than 40 levels");
    assert_eq!(shown(&"-".repeat(10_000)), "error: nested deeper than 40 levels");
}
