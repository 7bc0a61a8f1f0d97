//! `windtunnel status`: what `oc adm upgrade status` would have printed at some moment of a run.

use super::args::{Details, StatusArgs};
use super::{Exit, report, say};
use crate::base::text::{clock_time, parse_duration};
use crate::report::status;
use crate::status::Details as Sections;

/// Prints the status.
pub(super) fn status(args: &StatusArgs) -> Result<Exit, String> {
    let record = report::read(&args.record)?;
    let at = match &args.at {
        None => record.end(),
        Some(text) => {
            let span = parse_duration(text).ok_or_else(|| {
                format!("--at: expected a time since the start such as `1h30m`, found `{text}`")
            })?;
            record.header.epoch + span
        }
    };
    let details = match args.details {
        Details::None => Sections::None,
        Details::All => Sections::All,
        Details::Nodes => Sections::Nodes,
        Details::Operators => Sections::Operators,
    };
    let text = status::of(&record.view_at(at), at, details).ok_or_else(|| {
        let time = clock_time(at.duration_since(record.header.epoch));
        format!("{}: there is no ClusterVersion at {time}", args.record.display())
    })?;
    say(&text);
    Ok(Exit::Passed)
}
