//! Reports as one HTML page without other files.

use std::fmt::Write as _;

use super::{columns_of, header, place, saved_from};
use crate::report::Report;
use crate::trap::{Harm, Proof, Trap, Witness};

/// The look of the page, for light and dark screens.
const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:2em;max-width:100em;color-scheme:light dark}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3em .6em;\
border-bottom:1px solid #8884}code,pre{font:12px/1.4 ui-monospace,monospace}pre{white-space:pre-wrap;\
overflow-wrap:anywhere}.definition,.status{color:#c62828}.edits{color:#d84315}.lost{color:#ad6200}\
.again,.note{color:#777}summary{cursor:pointer}";

/// Reports as one HTML page. `level` is the least harm to list.
pub fn html(reports: &[Report], level: Harm) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>Rollback traps</title>\n<style>{STYLE}</style>\n"
    );
    for report in reports {
        text += &section(report, level);
    }
    text + "</html>\n"
}

fn section(report: &Report, level: Harm) -> String {
    let mut text = format!("<h1>{}</h1>\n<p>{}</p>\n", escaped(&report.heading()), escaped(&report.totals()));
    text += "<table>\n<tr>";
    for name in header(report) {
        let _ = write!(text, "<th>{}</th>", escaped(&name));
    }
    text += "</tr>\n";
    for trap in report.at_level(level) {
        text += &row(report, trap);
    }
    text += "</table>\n";
    if report.unproved().next().is_some() {
        text += "<h2>Unproved</h2>\n<ul>\n";
    }
    for trap in report.unproved() {
        if let Proof::Unproved(reason) = &trap.proof {
            let place = escaped(&place(trap));
            let _ = writeln!(
                text,
                "<li>{} <code>{place}</code>: {}: {}</li>",
                escaped(&trap.kind),
                escaped(&trap.detail),
                escaped(reason)
            );
        }
    }
    if report.unproved().next().is_some() {
        text += "</ul>\n";
    }
    text
}

fn row(report: &Report, trap: &Trap) -> String {
    let proof = match &trap.proof {
        Proof::Proved(witness) => proof(witness),
        _ => String::new(),
    };
    let mut text = format!(
        "<tr class=\"{0}\"><td>{0}</td><td>{1}</td><td><code>{2}</code>{3}</td><td>{4}</td><td>{5}</td><td>{6}</td>",
        trap.harm,
        escaped(&trap.kind),
        escaped(&place(trap)),
        proof,
        escaped(&trap.detail),
        escaped(&trap.writer),
        saved_from(trap)
    );
    for harm in columns_of(report, trap) {
        let _ = write!(text, "<td class=\"{harm}\">{harm}</td>");
    }
    text + "</tr>\n"
}

/// The witness and its requests, folded.
fn proof(witness: &Witness) -> String {
    let mut text =
        format!("<details><summary>proof</summary><pre>{}</pre>", escaped(&format!("{:#}", witness.object)));
    for exchange in &witness.exchanges {
        let _ = write!(
            text,
            "<p>{}: <code>{} {}</code> {} {}</p>",
            escaped(exchange.purpose),
            exchange.method,
            escaped(&exchange.path),
            exchange.code,
            escaped(&exchange.message)
        );
    }
    text + "</details>"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
