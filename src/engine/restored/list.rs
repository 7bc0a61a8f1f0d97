//! Leftovers as text: grouped by what they are, a line each.

use windtunnel_core::text::counted;

use super::leftover::{Leftover, What};

/// The greatest number of lines of one group.
const LINES_MAX: usize = 10;

/// Renders leftovers: their number, then a heading and lines for each group. Traces are only counted.
pub fn render(leftovers: &[Leftover]) -> String {
    let (counted_ones, traces): (Vec<&Leftover>, Vec<&Leftover>) =
        leftovers.iter().partition(|leftover| leftover.counts());
    let mut text = match counted_ones.len() {
        1 => "1 thing is left over".to_owned(),
        count => format!("{count} things are left over"),
    };
    for what in What::ALL {
        let group: Vec<&&Leftover> = counted_ones.iter().filter(|leftover| leftover.what == what).collect();
        if group.is_empty() {
            continue;
        }
        text += &format!("\n  {}:", what.heading());
        for leftover in group.iter().take(LINES_MAX) {
            text += &format!("\n    {leftover}");
        }
        let more = group.len().saturating_sub(LINES_MAX);
        if more > 0 {
            text += &format!("\n    and {more} more");
        }
    }
    if !traces.is_empty() {
        text += &format!("\n  not counted: {} that every update leaves", counted(traces.len(), "trace"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{CLUSTER_VERSIONS, CONFIG_MAPS};

    use super::super::difference::Difference;
    use super::*;
    use crate::plan::FieldPath;

    #[test]
    fn leftovers_are_grouped_by_what_they_are() {
        let version = CLUSTER_VERSIONS.key("", "version");
        let field = |path: &str, before, after| {
            let field = FieldPath::parse(path).unwrap();
            Leftover::of_field("ClusterVersion", &version, Difference { field, before, after })
        };
        let text = render(&[
            Leftover::new_object("ConfigMap", &CONFIG_MAPS.key("ns", "a"), "Node/n".to_owned()),
            field("status.capabilities.enabledCapabilities", json!(["A"]), json!(["A", "B"])),
            field(
                "status.conditions[X]",
                json!(null),
                json!({ "type": "X", "status": "True", "reason": "R", "message": "m" }),
            ),
            field("status.history", json!([{}]), json!([{}, {}])),
        ]);
        assert_eq!(
            text,
            "3 things are left over\n  new objects:\n    ConfigMap/ns/a, owned by Node/n\n  capabilities:\n    \
             ClusterVersion/version: status.capabilities.enabledCapabilities has B as well\n  conditions:\n    \
             ClusterVersion/version: status.conditions[X] was absent and is X=True R \"m\"\n  not counted: 1 trace that \
             every update leaves"
        );
    }
}
