//! The minors whose payload has an alert.

use semver::Version;
use serde_json::Value;
use windtunnel_core::resources::PROMETHEUS_RULES;
use windtunnel_openshift::manifests::{self, MajorMinor};
use windtunnel_openshift::release::Release;

/// Says which minors have this alert, and which of them only with a preview feature set. Empty if none has.
pub(super) fn with_alert(name: &str) -> String {
    let lines: Vec<MajorMinor> = Release::lines().collect();
    let having = |gated: bool| ranges(&lines, &|line| has_alert(name, line, gated));
    let join = |ranges: &[String]| ranges.join(" and ");
    match (having(false).as_slice(), having(true).as_slice()) {
        ([], []) => String::new(),
        ([], previews) => format!("releases of {} have it, with a preview feature set", join(previews)),
        (always, _) => format!("releases of {} have it", join(always)),
    }
}

fn has_alert(name: &str, line: MajorMinor, gated: bool) -> bool {
    let Ok(release) = Release::find(&Version::new(line.0, line.1, 0)) else { return false };
    let files = release.components.iter().flat_map(|component| &component.objects);
    let mut objects = files.flat_map(|file| manifests::payload(file, line));
    objects.any(|object| {
        PROMETHEUS_RULES.is_kind_of(object)
            && manifests::is_gated(object) == gated
            && alerts(object).any(|alert| alert == name)
    })
}

/// The names of the alerts in a PrometheusRule.
pub(super) fn alerts(object: &Value) -> impl Iterator<Item = &str> {
    let groups = object["spec"]["groups"].as_array().into_iter().flatten();
    let rules = groups.flat_map(|group| group["rules"].as_array().into_iter().flatten());
    rules.filter_map(|rule| rule["alert"].as_str())
}

/// The ranges of minors for which something holds: `4.10 to 4.12`.
fn ranges(lines: &[MajorMinor], holds: &dyn Fn(MajorMinor) -> bool) -> Vec<String> {
    let text = |line: MajorMinor| format!("{}.{}", line.0, line.1);
    let found: Vec<(usize, MajorMinor)> =
        lines.iter().copied().enumerate().filter(|(_, line)| holds(*line)).collect();
    let parts = found.chunk_by(|(place, _), (next, _)| place + 1 == *next);
    parts
        .map(|part| match part {
            [(_, first), .., (_, last)] => format!("{} to {}", text(*first), text(*last)),
            [(_, only)] => text(*only),
            [] => String::new(),
        })
        .collect()
}
