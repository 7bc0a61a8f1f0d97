//! The report of a rehearsal for a terminal.

use std::fmt::{self, Display};

use windtunnel_core::text::short_duration;

use super::report::{Range, Report, Verdict};
use super::run::Stop;

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) };
        writeln!(f, "Rehearsed {} to {} in {runs}: {}", self.from, self.to, headline(self))?;
        for (number, (stop, seeds)) in (1..).zip(&self.stops) {
            let place = if stop.phase.starts_with("pool ") { "in" } else { "at" };
            let often =
                if self.runs > 1 { format!(", in {seeds} of {} runs", self.runs) } else { String::new() };
            let on_the_way = if stop.to == self.to.to_string() {
                String::new()
            } else {
                format!(" of the update to {}", stop.to)
            };
            let at = short_duration(stop.at);
            writeln!(
                f,
                "\n{number}. Stops {at} after the request, {place} {}{on_the_way}{often}",
                stop.phase
            )?;
            write_stop(f, stop)?;
        }
        section(
            f,
            "Warnings",
            self.warnings.iter().map(|warning| format!("{}: {}", warning.cause, warning.text)),
        )?;
        self.write_times(f)?;
        section(
            f,
            "Cannot be seen in this dump",
            self.unseen.iter().map(|unseen| format!("{}\n    {}", unseen.what, unseen.collect)),
        )?;
        section(f, "Taken over and assumed", self.assumed.iter())
    }
}

fn headline(report: &Report) -> String {
    match report.verdict() {
        Verdict::Stops if report.stops.len() == 1 => "1 stop".to_owned(),
        Verdict::Stops => format!("{} stops", report.stops.len()),
        Verdict::NothingFound => "nothing found".to_owned(),
        Verdict::Unknown => "nothing found in what the dump shows".to_owned(),
    }
}

fn write_stop(f: &mut fmt::Formatter<'_>, stop: &Stop) -> fmt::Result {
    match &stop.cause {
        Some(cause) => writeln!(f, "   because of  {cause}")?,
        None => writeln!(f, "   because of  something that nothing in this cluster explains")?,
    }
    writeln!(f, "   waits       {}", stop.waits)?;
    writeln!(f, "   message     {}", stop.message)?;
    writeln!(f, "   half done   {}", stop.half_done)?;
    match &stop.repair {
        Some(repair) => writeln!(f, "   to go on    {}", repair.text),
        None => writeln!(f, "   the rehearsal ends here"),
    }
}

/// Writes a heading with its lines, if there are any.
fn section<T: Display>(
    f: &mut fmt::Formatter<'_>,
    heading: &str,
    lines: impl Iterator<Item = T>,
) -> fmt::Result {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        writeln!(f, "\n{heading}:")?;
    }
    lines.try_for_each(|line| writeln!(f, "  * {line}"))
}

impl Report {
    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let control_plane = self.control_plane.map(|range| ("control plane".to_owned(), range));
        let pools = self.pools.iter().map(|(name, range)| (format!("pool {name}"), *range));
        let lines = control_plane.into_iter().chain(pools);
        section(
            f,
            "Done after, without the time at stops",
            lines.map(|(name, range)| format!("{name}: {}", span(range))),
        )
    }
}

fn span(Range { least, most }: Range) -> String {
    if least == most {
        return short_duration(least);
    }
    format!("{} to {}", short_duration(least), short_duration(most))
}
