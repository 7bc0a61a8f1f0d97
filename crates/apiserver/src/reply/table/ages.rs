//! Durations in human-readable form (`k8s.io/apimachinery/pkg/util/duration`).

use windtunnel_core::clock::{Time, parse_rfc3339};

/// The time since an RFC 3339 timestamp; `<unknown>` if there is none.
pub(super) fn since(text: &str, now: Time) -> String {
    let Some(at) = parse_rfc3339(text) else { return "<unknown>".to_owned() };
    human(now.duration_since(at).as_secs())
}

/// The time between two RFC 3339 timestamps.
pub(super) fn between(from: &str, to: &str) -> Option<String> {
    let (from, to) = (parse_rfc3339(from)?, parse_rfc3339(to)?);
    Some(human(to.duration_since(from).as_secs()))
}

/// Formats a duration with one or two units (`HumanDuration`).
pub(super) fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => pair(days, "d", hours % 24, "h"),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        const DAY: i64 = 86_400;
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (660, "11m"),
            (3 * 3600, "3h"),
            (4 * 3600 + 120, "4h2m"),
            (30 * 3600, "30h"),
            (2 * DAY + 3 * 3600, "2d3h"),
            (9 * DAY, "9d"),
            (3 * 365 * DAY + DAY, "3y1d"),
            (9 * 365 * DAY + DAY, "9y"),
        ] {
            assert_eq!(human(seconds), text, "{seconds}");
        }
        assert_eq!(since("", Time::UNIX_EPOCH), "<unknown>");
    }
}
