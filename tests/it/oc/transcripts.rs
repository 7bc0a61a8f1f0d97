//! The recorded transcripts, in three formats.

use windtunnel_openshift::oc::CommandOutput;

/// One command with its result.
#[derive(Debug)]
pub(super) struct Transcript {
    /// The run of the recorder that recorded it.
    pub(super) section: String,
    /// The name of its cluster.
    pub(super) name: String,
    /// The words after `oc adm upgrade`.
    pub(super) words: Vec<String>,
    /// Its output.
    pub(super) output: CommandOutput,
    /// The body of its PATCH.
    pub(super) patch: Option<String>,
    /// Whether the transcript has only the list of updates, with short images.
    pub(super) is_excerpt: bool,
}

/// All transcripts of the file.
pub(super) fn parse(text: &str) -> Vec<Transcript> {
    let mut found = Vec::new();
    for section in text.split("################ ").skip(1) {
        let (name, rest) = section.split_once('\n').unwrap();
        for case in rest.split("#### ").skip(1) {
            let (head, body) = case.split_once('\n').unwrap();
            found.push(if name == "t5" { excerpt(head, body) } else { whole(name, head, body) });
        }
    }
    found
}

/// Parses `name [--flag=value 'word'] rc=1`, then the output.
fn whole(section: &str, head: &str, body: &str) -> Transcript {
    let (head, code) = head.rsplit_once(" rc=").unwrap();
    let (name, words) = head.rsplit_once('[').unwrap();
    let words = words.trim_end_matches(']');
    let mut words: Vec<String> = if words.contains('\'') {
        words.split(", ").map(|word| word.trim_matches('\'').to_owned()).collect()
    } else {
        words.split_whitespace().map(str::to_owned).collect()
    };
    if name.starts_with("REC ") {
        words.insert(0, "recommend".to_owned());
    }
    let (stdout, stderr) = if section == "t6" { in_blocks(body) } else { in_lines(body) };
    Transcript {
        section: section.to_owned(),
        name: name.trim().to_owned(),
        words,
        output: CommandOutput { stdout, stderr, code: code.parse().unwrap() },
        patch: patch(body),
        is_excerpt: false,
    }
}

/// Parses lines marked `OUT|` or `ERR|`.
fn in_lines(body: &str) -> (String, String) {
    let marked = |mark: &str| {
        let lines: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix(mark)).collect();
        lines.join("\n")
    };
    (marked("OUT|"), marked("ERR|"))
}

/// Parses `OUT|...` and ` ERR|...` unchanged, then the requests in one line.
fn in_blocks(body: &str) -> (String, String) {
    let body = body.trim_end_matches('\n');
    let (printed, _requests) = body.rsplit_once("\n[").unwrap();
    let (stdout, stderr) = printed.strip_prefix("OUT|").unwrap().split_once(" ERR|").unwrap();
    (stdout.to_owned(), stderr.to_owned())
}

/// The body of the request in the line of the PATCH.
fn patch(body: &str) -> Option<String> {
    let line = body.lines().find(|line| line.contains("('PATCH'"))?;
    let from = line.find("'{\"spec\"")? + 1;
    let to = line[from..].find("}'")? + from + 1;
    Some(line[from..to].to_owned())
}

/// Parses `name --flag 0`, then lines between bars.
fn excerpt(head: &str, body: &str) -> Transcript {
    let mut words: Vec<&str> = head.split_whitespace().collect();
    let (code, name) = (words.pop().unwrap(), words.remove(0).to_owned());
    let lines = body.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let stdout = lines.map(|line| [line, "\n"].concat()).collect::<Vec<_>>().concat();
    words.insert(0, "recommend");
    Transcript {
        section: "t5".to_owned(),
        name,
        words: words.into_iter().map(str::to_owned).collect(),
        output: CommandOutput { stdout, stderr: String::new(), code: code.parse().unwrap() },
        patch: None,
        is_excerpt: true,
    }
}
