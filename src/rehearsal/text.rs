//! The report of a rehearsal for a terminal.

use std::fmt::{self, Display};

use windtunnel_core::text::{counted, short_duration};

use super::report::{Range, Report, Verdict};
use super::run::Stop;

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) };
        writeln!(f, "Rehearsed {} to {} in {runs}: {}", self.from, self.to, headline(self))?;
        for (number, (stop, seeds)) in (1..).zip(&self.stops) {
            write!(f, "\n{}", self.stop_lines(number, stop, *seeds))?;
        }
        section(
            f,
            "Warnings",
            self.warnings.iter().map(|warning| format!("{}: {}", warning.cause, warning.text)),
        )?;
        self.write_times(f)?;
        self.write_back(f)?;
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

impl Report {
    /// The lines of a stop; empty if there is none with this number.
    pub fn stop_text(&self, number: usize) -> String {
        let stop = number.checked_sub(1).and_then(|index| self.stops.get(index));
        stop.map(|(stop, seeds)| self.stop_lines(number, stop, *seeds)).unwrap_or_default()
    }

    fn stop_lines(&self, number: usize, stop: &Stop, seeds: usize) -> String {
        let place = if stop.phase.starts_with("pool ") { "in" } else { "at" };
        let often = if self.runs > 1 { format!(", in {seeds} of {} runs", self.runs) } else { String::new() };
        let on_the_way = if stop.to == self.to.to_string() {
            String::new()
        } else {
            format!(" of the update to {}", stop.to)
        };
        let Stop { phase, waits, message, half_done, .. } = stop;
        let at = short_duration(stop.at);
        let cause = stop.cause.as_ref().map_or_else(
            || "something that nothing in this cluster explains".to_owned(),
            ToString::to_string,
        );
        let last = match &stop.repair {
            Some(repair) => format!("to go on    {}", repair.text),
            None => "the rehearsal ends here".to_owned(),
        };
        format!(
            "{number}. Stops {at} after the request, {place} {phase}{on_the_way}{often}\n   because of  {cause}\n   \
             waits       {waits}\n   message     {message}\n   half done   {half_done}\n   {last}\n"
        )
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
        let lines = self.times().map(|(name, range)| {
            let changed = self.what_if.iter().map(|(change, report)| {
                let other = report.times().find(|(other, _)| *other == name);
                let other = other.map_or_else(|| "not reached".to_owned(), |(_, range)| span(range));
                format!("; with {change}: {other}")
            });
            format!("{name}: {}{}", span(range), changed.collect::<String>())
        });
        section(f, "Done after, without the time at stops", lines)?;
        section(
            f,
            "Long because of",
            self.slow.iter().map(|slow| format!("pool {}: {}", slow.pool, slow.text)),
        )?;
        section(f, "What if", self.what_if.iter().map(|(change, report)| self.changed(change, report)))
    }

    /// Everything, the control plane and the pools, with the times after which they are done.
    fn times(&self) -> impl Iterator<Item = (String, Range)> {
        let total = self.total.map(|range| ("everything".to_owned(), range));
        let control_plane = self.control_plane.map(|range| ("control plane".to_owned(), range));
        let pools = self.pools.iter().map(|(name, range)| (format!("pool {name}"), *range));
        total.into_iter().chain(control_plane).chain(pools)
    }

    /// The stops of a changed cluster, compared with those of the cluster itself.
    fn changed(&self, change: &str, report: &Self) -> String {
        let causes = |report: &Self| -> Vec<String> {
            let place = |stop: &Stop| match &stop.cause {
                Some(cause) => format!("{cause} ({})", stop.phase),
                None => format!("an unknown cause ({})", stop.phase),
            };
            report.stops().map(place).collect()
        };
        let (own, others) = (causes(self), causes(report));
        let missing = |from: &[String], list: &[String]| -> Vec<String> {
            list.iter().filter(|cause| !from.contains(cause)).cloned().collect()
        };
        let (new, gone) = (missing(&own, &others), missing(&others, &own));
        let part = |what: &str, list: &[String]| {
            if list.is_empty() { String::new() } else { format!("; {what}: {}", list.join(", ")) }
        };
        let same = if new.is_empty() && gone.is_empty() && !own.is_empty() { "; the same stops" } else { "" };
        format!("{change}: {}{same}{}{}", headline(report), part("new", &new), part("no more", &gone))
    }

    fn write_back(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(back) = &self.back else { return Ok(()) };
        let point = match &back.no_return {
            _ if back.moments == 0 => {
                vec!["no moment of the update was reached from which to go back".to_owned()]
            }
            None => vec![format!("the cluster arrives from each of {}", counted(back.moments, "moment"))],
            Some(point) => {
                let first = format!(
                    "no way back from {} after the request on, after: {}",
                    short_duration(point.at),
                    point.after
                );
                std::iter::once(first)
                    .chain(point.why.iter().map(|why| format!("  because of {why}")))
                    .collect()
            }
        };
        let traps = back.traps.iter().map(|trap| format!("trap: {trap}"));
        let none = back.traps.is_empty().then(|| "no object of the dump meets a trap".to_owned());
        section(f, &format!("The way back to {}", back.to), point.into_iter().chain(traps).chain(none))
    }
}

fn span(Range { least, most }: Range) -> String {
    if least == most {
        return short_duration(least);
    }
    format!("{} to {}", short_duration(least), short_duration(most))
}
