//! `metrics`: samples that no component of windtunnel exports.

use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::promql::{self, Expr, Sample};

use crate::scenario::reader::Reader;

/// Parses samples by series.
pub(in crate::scenario) fn read(reader: &mut Reader<'_>, node: &Node) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for (series, value) in reader.entries(node, "values by series").unwrap_or_default() {
        let Some(text) = reader.text(series, EXAMPLE) else { continue };
        let labels = match promql::parse(&text) {
            Ok(Expr::Select(selector)) => selector.series(),
            _ => None,
        };
        let Some(labels) = labels else {
            reader.expected(series, EXAMPLE);
            continue;
        };
        if samples.iter().any(|sample| sample.labels == labels) {
            reader.error(series, format!("duplicate series `{text}`"));
            continue;
        }
        match &value.kind {
            Kind::Number(number) => samples.extend(number.as_f64().map(|value| Sample { labels, value })),
            _ => reader.expected(value, "a number"),
        }
    }
    samples
}

const EXAMPLE: &str = "a series such as `csv_succeeded{name=\"web.v1\"}`";
