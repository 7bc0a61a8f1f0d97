//! The moments of an update on a line, with a colour for each outcome: a strip for terminals, and an SVG picture.

use std::fmt::Write as _;

use jiff::SignedDuration;

use super::groups::word;
use super::times::time;
use crate::engine::sweep::{Branch, Verdict};

/// The number of characters of a strip.
const STRIP: usize = 72;
/// The width of the drawn line, its left end, and the height of the bars, in pixels.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 20.0;
const BAR: f64 = 48.0;

/// A strip of characters, each with the worst outcome of its moments, and a legend.
pub(super) fn strip(branches: &[Branch]) -> String {
    let (start, end) = ends(branches);
    let mut cells: Vec<Option<&Verdict>> = vec![None; STRIP];
    for branch in branches {
        let cell = &mut cells[cell(branch.moment.at, start, end)];
        if cell.is_none_or(|worst| rank(worst) < rank(&branch.verdict)) {
            *cell = Some(&branch.verdict);
        }
    }
    let mut line = String::new();
    let mut latest = ' ';
    for cell in cells {
        // Nothing happens between two moments, so the outcome stays.
        latest = cell.map_or(latest, sign);
        line.push(latest);
    }
    let legend = "= safe   ~ left over   X trapped   ? stuck   ! failed";
    let gap = STRIP.saturating_sub(time(start).len() + time(end).len());
    format!("{line}\n{}{}{}\n{legend}\n", time(start), " ".repeat(gap), time(end))
}

/// The number of the cell of a moment.
fn cell(at: SignedDuration, start: SignedDuration, end: SignedDuration) -> usize {
    let (passed, whole) = ((at - start).as_millis(), (end - start).as_millis().max(1));
    usize::try_from(passed).unwrap_or(0) * (STRIP - 1) / usize::try_from(whole).unwrap_or(1)
}

fn sign(verdict: &Verdict) -> char {
    match verdict {
        Verdict::Safe => '=',
        Verdict::LeftOver => '~',
        Verdict::Trapped(_) => 'X',
        Verdict::Stuck(_) => '?',
        Verdict::Failed(_) => '!',
    }
}

/// The worse, the higher.
fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Safe => 0,
        Verdict::LeftOver => 1,
        Verdict::Stuck(_) => 2,
        Verdict::Trapped(_) => 3,
        Verdict::Failed(_) => 4,
    }
}

fn colour(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe => "#3e8635",
        Verdict::LeftOver => "#009596",
        Verdict::Trapped(_) => "#c9190b",
        Verdict::Stuck(_) => "#f0ab00",
        Verdict::Failed(_) => "#6a6e73",
    }
}

/// The first and the last moment.
fn ends(branches: &[Branch]) -> (SignedDuration, SignedDuration) {
    let at = |branch: Option<&Branch>| branch.map_or(SignedDuration::ZERO, |branch| branch.moment.at);
    (at(branches.first()), at(branches.last()))
}

/// The position of a moment between two others, from 0 to 1.
fn share(at: SignedDuration, start: SignedDuration, end: SignedDuration) -> f64 {
    let whole = (end - start).as_secs_f64();
    if whole > 0.0 { (at - start).as_secs_f64() / whole } else { 0.0 }
}

/// The picture as an SVG document: a bar from each moment to the next, with a tooltip, and an axis of time.
pub(super) fn svg(title: &str, asked: &str, branches: &[Branch]) -> String {
    let (start, end) = ends(branches);
    let place = |at: SignedDuration| LEFT + share(at, start, end) * WIDTH;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} 150\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<title>{}</title>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}: {}</text>\n",
        WIDTH + 2.0 * LEFT,
        escaped(title),
        escaped(title),
        escaped(asked),
    );
    for (index, branch) in branches.iter().enumerate() {
        let from = place(branch.moment.at);
        let to = branches.get(index + 1).map_or(from + 2.0, |next| place(next.moment.at));
        let _ = writeln!(
            text,
            "<rect x=\"{from:.2}\" y=\"36\" width=\"{:.2}\" height=\"{BAR}\" fill=\"{}\"><title>{} {}: {}</title></rect>",
            (to - from).max(0.5),
            colour(&branch.verdict),
            time(branch.moment.at),
            word(&branch.verdict),
            escaped(&branch.moment.last_write),
        );
    }
    for (quarter, anchor) in (0..).zip(["start", "middle", "middle", "middle", "end"]) {
        let at = start + (end - start) * quarter / 4;
        let at = SignedDuration::from_secs(at.as_secs());
        let _ = writeln!(
            text,
            "<text x=\"{:.2}\" y=\"104\" text-anchor=\"{anchor}\" fill=\"#4d5258\">{}</text>",
            LEFT + WIDTH * f64::from(quarter) / 4.0,
            time(at)
        );
    }
    let mut left = LEFT;
    for verdict in legend() {
        let _ = writeln!(
            text,
            "<rect x=\"{left}\" y=\"122\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"133\">{}</text>",
            colour(&verdict),
            left + 18.0,
            word(&verdict)
        );
        left += 110.0;
    }
    text.push_str("</svg>\n");
    text
}

/// One verdict of each kind.
fn legend() -> [Verdict; 5] {
    [
        Verdict::Safe,
        Verdict::LeftOver,
        Verdict::Trapped(Vec::new()),
        Verdict::Stuck(Vec::new()),
        Verdict::Failed(String::new()),
    ]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
