//! `windtunnel logs`: prints the logs of simulated programs in a record.

use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;
use windtunnel_core::text::{clock_time, columns, did_you_mean, one_line};

use super::args::LogsArgs;
use super::files::records;
use super::{Exit, moment, print_notice, print_output};
use crate::cli::output::Shown as _;
use crate::record::{ContainerLog, Record};

/// Prints the lines of the pods that the arguments select, or a list of all pods with lines.
///
/// # Errors
/// The record is unreadable, or has no such pod.
pub(super) fn logs(args: &LogsArgs) -> Result<Exit, String> {
    let record = records::read(&args.record)?;
    if record.logs.is_empty() {
        let path = args.record.shown();
        return Err(format!(
            "{path}: the record has no logs: it is of a live cluster, or an older windtunnel wrote it"
        ));
    }
    let Some(pod) = &args.pod else {
        print_output(&list(&record));
        return Ok(Exit::Passed);
    };
    let selected = select(&record.logs, pod, args.container.as_deref())?;
    let lines = lines(&record, &selected, args)?;
    if lines.is_empty() {
        print_notice(&format!("no line of `{pod}` in that time"));
        return Ok(Exit::Failed);
    }
    print_output(&render(&lines, args.timestamps));
    Ok(Exit::Passed)
}

/// The logs of the record as a table, with the moments of their first and last lines.
fn list(record: &Record) -> String {
    let since_start = |at: Time| match at.duration_since(record.header.epoch) {
        span if span.is_negative() => "set-up".to_owned(),
        span => clock_time(span),
    };
    let heading = ["POD", "CONTAINER", "RESTARTS", "LINES", "FIRST", "LAST"].map(str::to_owned).to_vec();
    let row = |log: &ContainerLog| {
        let moment = |line: Option<&LogLine>| line.map(|line| since_start(line.at)).unwrap_or_default();
        vec![
            format!("{}/{}", log.namespace, log.pod),
            log.container.clone(),
            log.restarts.to_string(),
            log.lines.len().to_string(),
            moment(log.lines.first()),
            moment(log.lines.last()),
        ]
    };
    columns(&std::iter::once(heading).chain(record.logs.iter().map(row)).collect::<Vec<_>>())
}

/// The logs of the pods whose names begin with `pod`.
///
/// # Errors
/// There are none.
fn select<'r>(
    logs: &'r [ContainerLog],
    pod: &str,
    container: Option<&str>,
) -> Result<Vec<&'r ContainerLog>, String> {
    let (namespace, name) =
        pod.split_once('/').map_or((None, pod), |(namespace, name)| (Some(namespace), name));
    let is_pod = |log: &&ContainerLog| {
        log.pod.starts_with(name) && namespace.is_none_or(|namespace| namespace == log.namespace)
    };
    let of_pod: Vec<&ContainerLog> = logs.iter().filter(is_pod).collect();
    if of_pod.is_empty() {
        let hint = did_you_mean(name, logs.iter().map(|log| log.pod.as_str()));
        return Err(format!("no pod `{pod}` printed a line{hint}; without a pod, the command lists all"));
    }
    let Some(container) = container else { return Ok(of_pod) };
    let names = || of_pod.iter().map(|log| log.container.as_str());
    if !names().any(|name| name == container) {
        return Err(format!(
            "no container `{container}` of `{pod}` printed a line{}",
            did_you_mean(container, names())
        ));
    }
    Ok(of_pod.into_iter().filter(|log| log.container == container).collect())
}

/// The lines in the time that the arguments select, oldest first, each with its log.
fn lines<'r>(
    record: &Record,
    logs: &[&'r ContainerLog],
    args: &LogsArgs,
) -> Result<Vec<(&'r ContainerLog, &'r LogLine)>, String> {
    let bound = |flag: &str, text: Option<&String>| {
        text.map(|text| moment::since_start(record, flag, text)).transpose()
    };
    let (from, until) = (bound("--from", args.from.as_ref())?, bound("--until", args.until.as_ref())?);
    let is_in_time = |line: &LogLine| {
        from.is_none_or(|from| line.at >= from) && until.is_none_or(|until| line.at <= until)
    };
    let all = logs.iter().flat_map(|log| log.lines.iter().map(move |line| (*log, line)));
    let mut found: Vec<_> = all.filter(|(_, line)| is_in_time(line)).collect();
    found.sort_by_key(|(_, line)| line.at);
    let first = args.tail.map_or(0, |tail| found.len().saturating_sub(tail));
    Ok(found.split_off(first))
}

/// The lines as `oc logs` prints them; with the names of pod and container if there are several.
fn render(lines: &[(&ContainerLog, &LogLine)], timestamps: bool) -> String {
    let name = |log: &ContainerLog| (log.pod.clone(), log.container.clone());
    let is_one = lines.windows(2).all(|pair| name(pair[0].0) == name(pair[1].0));
    let mut text = String::new();
    for (log, line) in lines {
        if !is_one {
            text += &format!("[pod/{}/{}] ", one_line(&log.pod), one_line(&log.container));
        }
        if timestamps {
            text += &format!("{:.9} ", line.at);
        }
        text += &one_line(&line.text);
        text.push('\n');
    }
    text
}
