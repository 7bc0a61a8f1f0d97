//! Expressions and their values.

use std::sync::LazyLock;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::{
    Labels, Metrics, Sample, SampleCollector, Scrapes, Series, Value, evaluate, evaluate_range, parse,
    valid_until,
};

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
            "requests" => &[(&[("job", "a")], 80.0)],
            "up" => &[(&[("job", "a")], 1.0), (&[("job", "b")], 1.0)],
            _ => &[],
        };
        for (labels, value) in series {
            taken.add(labels, *value);
        }
    }

    /// `up` of job a was 0, 1 and 0 at 10, 40 and 70 s; the current sample is at 100 s. `requests` grew by 60 a scrape
    /// and was reset at 70 s. `ended` was scraped until 70 s. Other metrics have no known scrapes.
    fn scrapes(&self, metric: &str, after: Time, until: Time) -> Option<Vec<Scrapes<'_>>> {
        static UP: LazyLock<Vec<Sample>> = LazyLock::new(|| of("a", &[0.0, 1.0, 0.0]));
        static REQUESTS: LazyLock<Vec<Sample>> = LazyLock::new(|| of("a", &[100.0, 160.0, 20.0]));
        static ENDED: LazyLock<Vec<Sample>> = LazyLock::new(|| of("z", &[7.0, 7.0, 7.0]));
        let samples = match metric {
            "up" => &*UP,
            "requests" => &*REQUESTS,
            "ended" => &*ENDED,
            _ => return None,
        };
        let scrape = |(sample, seconds): (&'static Sample, i64)| {
            let at = Time::constant(seconds, 0);
            Scrapes { first: at, last: at, samples: std::slice::from_ref(sample) }
        };
        let scrapes = samples.iter().zip([10, 40, 70]).map(scrape);
        Some(scrapes.filter(|scrape| scrape.last > after && scrape.first <= until).collect())
    }

    fn now(&self) -> Time {
        Time::constant(100, 0)
    }
}

fn of(job: &str, values: &[f64]) -> Vec<Sample> {
    values.iter().map(|value| Sample { labels: labels(&[("job", job)]), value: *value }).collect()
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
        Ok(Value::Range(series)) => {
            let points = |series: &Series| {
                series.points().map(|(at, value)| format!("{value}@{at}")).collect::<Vec<_>>()
            };
            series.iter().map(|series| points(series).join(" ")).collect::<Vec<_>>().join("; ")
        }
        Ok(Value::Text(text)) => text,
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
    assert_eq!(shown("last_over_time(ended[3m]) + 1"), "job=z:8");
    assert_eq!(shown("absent_over_time(ended[3m])"), "");
    assert_eq!(shown("absent_over_time(ended{job='z'}[29s])"), "job=z:1");
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
    assert_eq!(shown("changes(up[60s])"), "job=a:1 job=b:0", "a range excludes its start");
    assert_eq!(shown("changes(up{job='a'}[61s])"), "job=a:2");
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
    assert_eq!(metrics.reaches(), [("node", day)]);
    assert_eq!(metrics.selectors().len(), 3);
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
    assert_eq!(shown("grate(objects[5m])"), "error: unknown function with name \"grate\"");
    assert_eq!(shown("group(provider"), "error: expected \")\", found the end");
    assert_eq!(shown("provider{type=AWS}"), "error: expected a string, found \"AWS\"");
    assert_eq!(shown("provider provider"), "error: expected the end, found \"provider\"");
    assert_eq!(
        shown("changes(up)"),
        "error: expected type range vector in call to changes, found instant vector"
    );
    assert_eq!(
        shown("abs(up[5m])"),
        "error: expected type instant vector in call to abs, found range vector"
    );
    assert_eq!(shown("sum(1)"), "error: expected type instant vector in sum, found scalar");
    assert_eq!(shown("round(up, 1, 2)"), "error: round takes 1 to 2 arguments, found 3");
    assert_eq!(shown("label_join(up, 'a')"), "error: label_join takes at least 3 arguments, found 2");
    assert_eq!(shown("up and 1"), "error: set operator \"and\" not allowed in binary scalar expression");
    assert_eq!(shown("up + bool up"), "error: bool modifier can only be used on comparison operators");
    assert_eq!(shown("-up[5m]"), "error: a sign needs a scalar or an instant vector, found range vector");
    assert_eq!(shown("up offset 5m offset 5m"), "error: offset may not be set multiple times");
    assert_eq!(shown("sum(up) offset 5m"), "error: only selectors and subqueries can have `offset` and `@`");
    assert_eq!(shown("up offset 5m [1m]"), "error: no offset or @ modifiers allowed before range");
    assert_eq!(
        shown("sum(up)[5m]"),
        "error: ranges only allowed for vector selectors: use a subquery such as [5m:1m]"
    );
    assert_eq!(shown("up[0s]"), "error: duration must be greater than 0");
    assert_eq!(
        shown("up @ 1e30"),
        "error: timestamp out of bounds for @ modifier: 1000000000000000000000000000000"
    );
    assert_eq!(shown("up[1e400]"), "error: expected a duration of less than 300 years, found inf");
    assert_eq!(
        shown("up[301y]"),
        "error: expected a duration of less than 300 years, found the duration 2636760h"
    );
    assert_eq!(shown("up[x]"), "error: expected a duration, found \"x\"");
    assert_eq!(
        shown("up @ 5m"),
        "error: expected a time in seconds, `start()` or `end()`, found the duration 5m"
    );
    assert_eq!(shown("up[1h1h]"), "error: bad number or duration syntax: \"1h1h\"");
    let nameless = "error: a selector without the name of one metric is not supported: write it before \"{\"";
    assert_eq!(shown("{__name__=~'a|b'}"), nameless);
    assert_eq!(shown("changes(up[5x])"), "error: bad number or duration syntax: \"5x\"");
    assert_eq!(shown("time(1)"), "error: time takes 0 arguments, found 1");
    assert_eq!(shown(""), "error: expected an expression, found the end");
    assert_eq!(shown(&"(".repeat(10_000)), "error: nested deeper than 40 levels");
    assert_eq!(shown(&"-".repeat(10_000)), "error: nested deeper than 40 levels");
}

#[test]
fn modifiers_move_the_evaluation() {
    assert_eq!(shown("up offset 30s"), "__name__=up,job=a:0");
    assert_eq!(shown("up offset 1m"), "__name__=up,job=a:1", "the sample of 40 s");
    assert_eq!(shown("up @ 45"), "__name__=up,job=a:1", "the latest sample before");
    assert_eq!(shown("up @ 5"), "");
    assert_eq!(shown("sum(up @ end()) + sum(up @ 45 offset -30s)"), ":2");
    assert_eq!(shown("requests[1m] offset 30s"), "160@40000 20@70000");
    assert_eq!(shown("timestamp(requests)"), "job=a:100");
    let reaches = |text: &str| parse(text).unwrap().reaches().iter().map(|(_, reach)| reach.as_secs()).max();
    assert_eq!(reaches("up offset 1h"), Some(3600));
    assert_eq!(reaches("rate(up[5m] offset 1h)"), Some(3900));
    assert_eq!(reaches("max_over_time(rate(up[5m])[1h:] offset 1h)"), Some(7500));
    assert_eq!(reaches("up offset -1h"), None);
}

#[test]
fn rates_of_a_counter_with_a_reset() {
    // 100, 160, 20 and 80 at 10, 40, 70 and 100 s: increases of 60, 20 and 60 in 90 s. The range of 2m starts at -20 s,
    // 30 s before the first sample: 140 * (30 + 90) / 90.
    assert_eq!(shown("round(increase(requests[2m]), 0.01)"), "job=a:186.67");
    assert_eq!(shown("round(rate(requests[2m]) * 1000)"), "job=a:1556");
    assert_eq!(shown("irate(requests[2m])"), "job=a:2");
    // Without known scrapes the current sample counts as that of all times.
    assert_eq!(shown("increase(role_weight{role='master'}[5m])"), "role=master:0");
}

#[test]
fn a_subquery_evaluates_at_multiples_of_its_step() {
    assert_eq!(shown("up{job='a'}[90s:30s]"), "0@30000 1@60000 0@90000");
    assert_eq!(shown("max_over_time((up == 1)[90s:10s])"), "job=a:1 job=b:1");
    assert_eq!(shown("count_over_time(vector(1)[1m:])"), ":2");
    assert_eq!(shown("sum_over_time(time()[1m:20s])"), ":240", "60, 80 and 100");
    assert_eq!(
        shown("sum_over_time(vector(1)[1000d:1s])"),
        "error: query processing would load too many samples into memory in query execution"
    );
}

#[test]
fn a_range_query_evaluates_each_step() {
    let parsed = parse("up{job='a'} + scalar(up{job='a'} @ end())").unwrap();
    let series = evaluate_range(&parsed, &TestMetrics, (10_000, 100_000), 30_000).unwrap();
    let points: Vec<_> = series[0].points().collect();
    assert_eq!(points, [(10_000, 1.0), (40_000, 2.0), (70_000, 1.0), (100_000, 2.0)]);
}

#[test]
fn further_operators_and_aggregations() {
    assert_eq!(shown("2 ^ 3 ^ 2"), "512");
    assert_eq!(shown("-2 ^ 2"), "-4");
    assert_eq!(shown("7 % 4 + +1"), "4");
    assert_eq!(shown("1 atan2 1 == bool 0.7853981633974483"), "1");
    assert_eq!(shown("0x1F + 1e-1 * 10 + .5"), "32.5");
    assert_eq!(shown("1h30m / 60"), "90");
    assert_eq!(shown("-Inf < bool NaN"), "0");
    assert_eq!(shown("quantile(0.5, objects)"), ":9");
    assert_eq!(shown("stdvar(node)"), format!(":{}", 2.0 / 3.0));
    assert_eq!(shown("count_values('v', node) + 0"), "v=1:1 v=2:1 v=3:1");
    assert_eq!(shown("SUM BY (role) (node) AND ON (role) role_weight{note='w'}"), "role=worker:5");
    assert_eq!(
        shown("role_weight * on (role) group_right (note) node{name='b'}"),
        "name=b,note=w,role=worker:20"
    );
    assert_eq!(
        shown("label_join(node{name='a'}, 'id', '/', 'role', 'name')"),
        "__name__=node,id=master/a,name=a,role=master:1"
    );
    assert_eq!(shown("scalar(node)"), "NaN");
    assert_eq!(shown("sort_desc(objects)").matches("30").count(), 1);
    assert_eq!(shown("hour() + vector(pi() * 0)"), ":0");
    assert_eq!(shown("{__name__='up',job='a'}"), "__name__=up,job=a:1");
}
