//! `programs`: programs of this machine as parts of the cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windtunnel_core::text::truncate;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::environment::ContainerPlace;

use crate::plan::{Permission, ProgramPlace, ProgramPlan, ProgramTime};
use crate::scenario::reader::{Map, Reader};

const KEYS: &[&str] = &[
    "name",
    "image",
    "container",
    "release",
    "component",
    "as",
    "command",
    "env",
    "files",
    "folder",
    "time",
];

/// The slowest and the fastest clock beside programs.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=100_000.0;

/// Parses a list of programs.
pub(in crate::scenario) fn read(reader: &mut Reader<'_>, node: &Node) -> Vec<ProgramPlan> {
    let mut programs: Vec<ProgramPlan> = Vec::new();
    for one in reader.list(node, "programs") {
        let Some(program) = program(reader, one) else { continue };
        if programs.iter().any(|other| other.name == program.name) {
            reader.error(one, format!("there is another program `{}`; give this one a `name`", program.name));
        }
        programs.push(program);
    }
    programs
}

fn program(reader: &mut Reader<'_>, node: &Node) -> Option<ProgramPlan> {
    let map = reader.map(node, "a program", KEYS)?;
    let command = map.get("command").map(|node| command(reader, node)).unwrap_or_default();
    let place = place(reader, node, &map)?;
    if command.is_empty() && matches!(place, ProgramPlace::Beside { .. }) {
        reader.error(node, "a program without `image`, `container` or `component` needs a `command`");
        return None;
    }
    let name = map.get("name").and_then(|node| name(reader, node));
    Some(ProgramPlan {
        name: name.unwrap_or_else(|| default_name(&place, &command)),
        place,
        command,
        env: map.get("env").map(|node| env(reader, node)).unwrap_or_default(),
        files: map.get("files").map(|node| files(reader, node)).unwrap_or_default(),
        folder: map
            .get("folder")
            .and_then(|node| reader.text(node, "a folder"))
            .map(|folder| beside(reader, &folder)),
        time: map.get("time").and_then(|node| time(reader, node)).unwrap_or_default(),
        permission: Permission::Missing { line: node.line, column: node.column },
    })
}

fn name(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let name = reader.text(node, "a name such as `my-operator`")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !name.chars().all(is_plain) || name.starts_with('.') {
        reader.error(
            node,
            format!(
                "the name of a program has letters, digits, `-`, `_` and `.` only, and begins with no `.`, found `{name}`"
            ),
        );
        return None;
    }
    Some(name)
}

/// The name of a program that has none: that of its container, or of its file.
fn default_name(place: &ProgramPlace, command: &[String]) -> String {
    let file = || command.first().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
    match place {
        ProgramPlace::In(ContainerPlace::Container { container, .. }) => container.clone(),
        ProgramPlace::In(ContainerPlace::Component { component, .. }) => component.clone(),
        ProgramPlace::In(ContainerPlace::Image(_)) | ProgramPlace::Beside { .. } => {
            file().unwrap_or_else(|| "program".to_owned())
        }
    }
}

fn place(reader: &mut Reader<'_>, node: &Node, map: &Map<'_>) -> Option<ProgramPlace> {
    const PLACES: [&str; 4] = ["image", "container", "component", "as"];
    let given: Vec<&str> = PLACES.into_iter().filter(|key| map.get(key).is_some()).collect();
    if let [one, other, ..] = given[..] {
        reader.error(node, format!("a program has one place: give `{one}` or `{other}`, not both"));
        return None;
    }
    if let Some(release) = map.get("release").filter(|_| given != ["component"]) {
        reader.error(release, "`release` needs `component`, the name of the image in the payload");
        return None;
    }
    let in_containers = |place| Some(ProgramPlace::In(place));
    if let Some(node) = map.get("image") {
        return in_containers(ContainerPlace::Image(
            reader.text(node, "a pattern such as `*/my-operator:*`")?,
        ));
    }
    if let Some(node) = map.get("component") {
        let component = reader.text(node, "a component such as `cluster-version-operator`")?;
        let release = match map.get("release") {
            Some(node) => Some(reader.version(node)?),
            None => None,
        };
        return in_containers(ContainerPlace::Component { release, component });
    }
    if let Some(node) = map.get("container") {
        return container(reader, node).and_then(in_containers);
    }
    let user = match map.get("as") {
        Some(node) => reader.text(node, "a user such as `system:serviceaccount:NAMESPACE:NAME`")?,
        None => "system:admin".to_owned(),
    };
    Some(ProgramPlace::Beside { user })
}

fn container(reader: &mut Reader<'_>, node: &Node) -> Option<ContainerPlace> {
    let text = reader.text(node, "`NAMESPACE/WORKLOAD/CONTAINER`")?;
    let parts: Vec<&str> = text.split('/').collect();
    let [namespace, workload, container] = parts[..] else {
        let message = format!("expected `NAMESPACE/WORKLOAD/CONTAINER`, found `{}`", truncate(&text, 60));
        reader.error(node, message);
        return None;
    };
    let [namespace, workload, container] = [namespace, workload, container].map(str::to_owned);
    Some(ContainerPlace::Container { namespace, workload, container })
}

/// Parses a command. A path that begins with `./` or `../` is relative to the scenario.
fn command(reader: &mut Reader<'_>, node: &Node) -> Vec<String> {
    if !matches!(node.kind, Kind::List(_)) {
        reader.expected(node, "a list of words such as `[./my-operator, --kubeconfig, \"{kubeconfig}\"]`");
        return Vec::new();
    }
    let mut words = Vec::new();
    for word in reader.list(node, "the words of the command") {
        match word.scalar() {
            Some(text) => words.push(text.to_owned()),
            None => reader.expected(word, "a word of the command"),
        }
    }
    if let Some(program) =
        words.first_mut().filter(|program| program.starts_with("./") || program.starts_with("../"))
    {
        *program = beside(reader, program).display().to_string();
    }
    words
}

/// A path that is relative to the scenario.
fn beside(reader: &Reader<'_>, path: &str) -> PathBuf {
    let folder = Path::new(reader.file()).parent().unwrap_or(Path::new(""));
    let path = Path::new(path);
    // A program without a folder would be searched for in PATH.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.join(path.strip_prefix("./").unwrap_or(path))
}

fn env(reader: &mut Reader<'_>, node: &Node) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, value) in reader.entries(node, "variables by name").unwrap_or_default() {
        let name = reader.text(name, "the name of a variable");
        all.extend(name.zip(value.scalar().map(str::to_owned)));
        if value.scalar().is_none() {
            reader.expected(value, "the text of a variable");
        }
    }
    all
}

/// Parses paths in the container, with the files and folders of this machine that are there.
fn files(reader: &mut Reader<'_>, node: &Node) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (path, source) in reader.entries(node, "files by their paths in the container").unwrap_or_default() {
        let source = reader.text(source, "a file or folder, relative to the scenario");
        let Some(at) = reader.text(path, "a path in the container") else { continue };
        if !at.starts_with('/') {
            reader.error(
                path,
                format!("expected a path in the container such as `/etc/my-operator`, found `{at}`"),
            );
        }
        all.extend(source.map(|source| (at, beside(reader, &source).display().to_string())));
    }
    all
}

fn time(reader: &mut Reader<'_>, node: &Node) -> Option<ProgramTime> {
    let text = reader.text(node, "`lockstep`, or a speed such as `60x`")?;
    let speed = text.strip_suffix('x').and_then(|factor| factor.parse().ok());
    let found = match (text.as_str(), speed.filter(|speed| SPEEDS.contains(speed))) {
        ("lockstep", _) => Some(ProgramTime::Lockstep),
        (_, Some(speed)) => Some(ProgramTime::Scaled(speed)),
        _ => None,
    };
    if found.is_none() {
        reader.error(
            node,
            format!(
                "expected `lockstep`, or a speed from `0.01x` to `100000x`, found `{}`",
                truncate(&text, 40)
            ),
        );
    }
    found
}
