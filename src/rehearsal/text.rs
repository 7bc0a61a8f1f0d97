//! The report of a rehearsal for a terminal.

use std::fmt::{self, Display};

use jiff::SignedDuration;
use windtunnel_core::text::{columns, counted, short_duration, truncate};

use super::report::{Range, Report, Verdict};
use super::run::Stop;

/// The most stops with all their lines, so that a report fits a terminal. The JSON has everything of the others.
const FULL_MAX: usize = 4;
/// The most lines about what was taken over and assumed.
const ASSUMED_MAX: usize = 4;

/// The longest reason of a point of no return, in characters. The JSON has all of it.
const REASON_MAX: usize = 300;

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = counted(self.runs, "run");
        writeln!(f, "Rehearsed {} to {} in {runs}: {}", self.from, self.to, headline(self))?;
        self.write_stops(f)?;
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
        let more = self.assumed.len().saturating_sub(ASSUMED_MAX);
        let more = (more > 0).then(|| format!("and {}: `--output json` has all", counted(more, "more line")));
        let assumed = self.assumed.iter().take(ASSUMED_MAX).cloned();
        section(f, "Taken over and assumed", assumed.chain(more))
    }
}

fn headline(report: &Report) -> String {
    match report.verdict() {
        Verdict::Stops => counted(report.stops.len(), "stop"),
        Verdict::NothingFound => "nothing found".to_owned(),
        Verdict::Unknown => "nothing found in what the dump shows".to_owned(),
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
    /// The lines of a stop; empty if there is none with this number.
    pub fn stop_text(&self, number: usize) -> String {
        let stop = number.checked_sub(1).and_then(|index| self.stops.get(index));
        stop.map(|(stop, seeds)| self.stop_lines(number, stop, *seeds)).unwrap_or_default()
    }

    fn write_stops(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = if self.stops.len() > FULL_MAX + 1 { FULL_MAX } else { self.stops.len() };
        for (number, (stop, seeds)) in (1..).zip(&self.stops) {
            if number <= full {
                write!(f, "\n{}", self.stop_lines(number, stop, *seeds))?;
                continue;
            }
            let before = if number == full + 1 { "\n" } else { "" };
            let heading = self.heading(number, stop, *seeds);
            writeln!(f, "{before}{heading}, because of {}\n   {}", cause_of(stop), way_on(stop))?;
        }
        Ok(())
    }

    /// When and where a stop is.
    fn heading(&self, number: usize, stop: &Stop, seeds: usize) -> String {
        let place = if stop.phase.starts_with("pool ") { "in" } else { "at" };
        let often = if self.runs > 1 { format!(", in {seeds} of {} runs", self.runs) } else { String::new() };
        let on_the_way = if stop.to == self.to.to_string() {
            String::new()
        } else {
            format!(" of the update to {}", stop.to)
        };
        let at = short_duration(stop.at);
        format!("{number}. Stops {at} after the request, {place} {}{on_the_way}{often}", stop.phase)
    }

    fn stop_lines(&self, number: usize, stop: &Stop, seeds: usize) -> String {
        let Stop { waits, message, half_done, .. } = stop;
        let (heading, cause, last) = (self.heading(number, stop, seeds), cause_of(stop), way_on(stop));
        format!(
            "{heading}\n   because of  {cause}\n   waits       {waits}\n   message     {message}\n   half done   {half_done}\n   \
             {last}\n"
        )
    }
}

fn cause_of(stop: &Stop) -> String {
    let unexplained = || "something that nothing in this cluster explains".to_owned();
    stop.cause.as_ref().map_or_else(unexplained, ToString::to_string)
}

fn way_on(stop: &Stop) -> String {
    match &stop.repair {
        Some(repair) => format!("to go on    {}", repair.text),
        None => "the rehearsal ends here".to_owned(),
    }
}

impl Report {
    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = "Done after, without the time at stops";
        if self.what_if.is_empty() {
            section(f, heading, self.times().map(|(name, range)| format!("{name}: {}", span(range))))?;
        } else {
            write!(f, "\n{heading}:\n{}", columns(&self.compared_times()))?;
        }
        section(
            f,
            "Long because of",
            self.slow.iter().map(|slow| format!("pool {}: {}", slow.pool, slow.text)),
        )?;
        section(f, "What if", self.what_if.iter().map(|(change, report)| self.changed(change, report)))
    }

    /// A table with a column for each change.
    fn compared_times(&self) -> Vec<Vec<String>> {
        let changes = self.what_if.iter().map(|(change, _)| change.clone());
        let head = ["  ".to_owned(), "now".to_owned()].into_iter().chain(changes).collect();
        let rows = self.times().map(|(name, range)| {
            let changed = self.what_if.iter().map(|(_, report)| {
                let other = report.times().find(|(other, _)| *other == name);
                other.map_or_else(|| "not reached".to_owned(), |(_, range)| span(range))
            });
            [format!("  {name}"), span(range)].into_iter().chain(changed).collect()
        });
        std::iter::once(head).chain(rows).collect()
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
                    short_duration(SignedDuration::from_secs(point.at.as_secs())),
                    point.after
                );
                std::iter::once(first)
                    .chain(point.why.iter().map(|why| format!("because of {}", truncate(why, REASON_MAX))))
                    .collect()
            }
        };
        let traps = back.traps.iter().map(|trap| format!("trap: {trap}"));
        let none = back.traps.is_empty().then(|| "no object of the updated cluster meets a trap".to_owned());
        section(f, &format!("The way back to {}", back.to), point.into_iter().chain(traps).chain(none))
    }
}

fn span(Range { least, most }: Range) -> String {
    if least == most {
        return short_duration(least);
    }
    format!("{} to {}", short_duration(least), short_duration(most))
}
