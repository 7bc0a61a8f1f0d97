//! `windtunnel dump`: lists what windtunnel reads of a dump, and what not.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::text::{columns, counted, grouped, one_line};

use super::read_files;
use crate::cli::args::{DumpArgs, ListingFormat};
use crate::cli::output::Shown as _;
use crate::cli::{Exit, print_output};
use crate::dump::{Class, Dump, FileEntry, below};
use crate::record::Secrets;

/// Prints the files of a dump, or what they are.
///
/// # Errors
/// The dump cannot be read, or has neither objects nor alerts.
pub(in crate::cli) fn list(args: &DumpArgs) -> Result<Exit, String> {
    let dump = read_files(&args.dump)?;
    let secrets = Secrets::of_objects(dump.list(&SECRETS).map(|secret| &**secret));
    if args.output == Some(ListingFormat::Json) {
        print_output(&secrets.hide(&format!("{:#}\n", json_of(&dump))));
    } else {
        print_output(&secrets.hide(&text_of(&dump, args)));
    }
    if dump.is_empty() && dump.alerts.is_none() {
        let (path, summary) = (args.dump.shown(), dump.inventory.summary());
        return Err(format!("{path}: expected objects of a cluster, found none in {summary}"));
    }
    Ok(Exit::Passed)
}

fn text_of(dump: &Dump, args: &DumpArgs) -> String {
    let selected = |file: &&FileEntry| args.only.is_none_or(|only| file.class == only.class());
    let is_list = args.files || args.only.is_some();
    let mut text = String::new();
    if is_list {
        let files = dump.inventory.files().iter().filter(selected);
        let rows: Vec<Vec<String>> = files.map(|file| row(file, &args.dump)).collect();
        text += &columns(&rows);
    } else {
        text += &kinds(dump);
        let files = dump.inventory.files().iter().filter(|file| file.class == Class::NotUnderstood);
        for file in files {
            let path = below(&file.path, &args.dump.shown()).to_owned();
            text += &format!("not understood: {}: {}\n", one_line(&path), one_line(&file.remark));
        }
    }
    for line in dump.inventory.uncollected_lines(&args.dump.shown()) {
        text += &format!("{line}\n");
    }
    if dump.alerts.is_none() {
        text += "no alerts\n";
    }
    text + &dump.inventory.summary() + "\n"
}

fn row(file: &FileEntry, dump: &Path) -> Vec<String> {
    let what = match file.class {
        Class::Read if file.remark.is_empty() => counted(file.objects, "object"),
        Class::Read => format!("{}, {}", counted(file.objects, "object"), file.remark),
        _ => file.remark.clone(),
    };
    let path = one_line(below(&file.path, &dump.shown())).into_owned();
    vec![file.class.name().to_owned(), path, one_line(&what).into_owned()]
}

/// Returns a table of the kinds.
fn kinds(dump: &Dump) -> String {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (_, object) in dump.objects() {
        let kind = (object.text("/apiVersion").to_owned(), object.text("/kind").to_owned());
        *counts.entry(kind).or_default() += 1;
    }
    let row =
        |((api_version, kind), count): ((String, String), usize)| vec![grouped(count), kind, api_version];
    columns(&counts.into_iter().map(row).collect::<Vec<_>>())
}

fn json_of(dump: &Dump) -> serde_json::Value {
    let inventory = &dump.inventory;
    let file = |file: &FileEntry| json!({ "path": file.path, "class": file.class.name(), "objects": file.objects, "remark": file.remark });
    let uncollected = inventory.uncollected().iter();
    let uncollected = uncollected.map(|one| json!({ "what": one.what, "why": one.why, "file": one.path }));
    let (copies, replaced) = inventory.seconds();
    json!({
        "files": inventory.files().iter().map(file).collect::<Vec<_>>(),
        "notCollected": uncollected.collect::<Vec<_>>(),
        "objects": inventory.kept(),
        "copies": copies,
        "replaced": replaced,
        "alerts": dump.alerts.is_some(),
    })
}
