//! The client `oc get`: parses its arguments, and prints the response.

mod kinds;

use serde_json::{Value, json};
use windtunnel_core::jsonpath::JsonPath;
use windtunnel_core::text::tabwriter::Columns;
use windtunnel_core::{Resource, name_of, yaml};

use super::outcome::CommandOutput;
pub use kinds::{CustomKind, find_resource};

/// The layout of `kubectl`'s tables.
const TABLE: Columns = Columns { min_width: 6, padding: 3 };

/// The media types to request if a table is printed.
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// A query with valid arguments.
#[derive(Debug, Clone)]
pub struct Get {
    /// At least one.
    targets: Vec<Target>,
    namespace: String,
    everywhere: bool,
    selector: String,
    headers: bool,
    output: Output,
}

/// What one request asks for.
#[derive(Debug, Clone)]
struct Target {
    resource: Resource,
    /// The name of one object; empty for all of the kind.
    name: String,
}

/// The API server's answer to a request: an object, a list or a Table, or else reason and message of the rejection.
pub type Reply = Result<Value, (String, String)>;

/// The output format.
#[derive(Debug, Clone, PartialEq)]
enum Output {
    Table { wide: bool },
    Json,
    Yaml,
    Name,
    Path(Vec<Piece>),
}

/// A part of a template such as `{.metadata.name}{"\n"}`.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Path(JsonPath),
}

impl Get {
    /// Parses the arguments of `oc get`. `custom` are the kinds that the cluster defines itself.
    ///
    /// # Errors
    /// The client's error message for invalid arguments.
    pub fn read(words: &[String], custom: &[CustomKind]) -> Result<Self, CommandOutput> {
        let mut get = Self {
            targets: Vec::new(),
            namespace: "default".to_owned(),
            everywhere: false,
            selector: String::new(),
            headers: true,
            output: Output::Table { wide: false },
        };
        let mut plain = Vec::new();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (flag, mut value) = match word.split_once('=') {
                Some((flag, value)) if word.starts_with('-') => (flag, Some(value)),
                _ => (word, None),
            };
            // `-ojson`
            let short = flag.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let (flag, glued) = match short.and_then(|letters| letters.char_indices().nth(1)) {
                Some((end, _)) => (&word[..=end], Some(&word[end + 1..])),
                None => (flag, None),
            };
            value = glued.or(value);
            let mut needed = || {
                let missing = || CommandOutput::default().fail(&format!("flag needs an argument: {flag}"));
                value.or_else(|| words.next()).ok_or_else(missing)
            };
            match flag {
                "-n" | "--namespace" => needed()?.clone_into(&mut get.namespace),
                "-l" | "--selector" => needed()?.clone_into(&mut get.selector),
                "-o" | "--output" => get.output = output(needed()?)?,
                "-A" | "--all-namespaces" => get.everywhere = true,
                "--no-headers" => get.headers = false,
                _ if flag.starts_with('-') => {
                    return Err(
                        CommandOutput::default().fail_usage(&format!("unknown flag: {flag}"), "oc get")
                    );
                }
                _ => plain.push(word),
            }
        }
        get.set_targets(&plain, custom)?;
        Ok(get)
    }

    /// Reads `KIND`, `KIND NAME ...`, `KIND,KIND`, or `KIND/NAME ...`.
    fn set_targets(&mut self, plain: &[&str], custom: &[CustomKind]) -> Result<(), CommandOutput> {
        let failed = |message: &str| Err(CommandOutput::default().fail(message));
        let Some((first, names)) = plain.split_first() else {
            return failed("You must specify the type of resource to get. ");
        };
        let pairs: Vec<(&str, &str)> = if plain.iter().any(|word| word.contains('/')) {
            let Some(pairs) = plain.iter().map(|word| word.split_once('/')).collect() else {
                return failed(
                    "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'oc get resource/<resource_name>' instead of 'oc get resource resource/<resource_name>'",
                );
            };
            pairs
        } else {
            let names = if names.is_empty() { &[""][..] } else { names };
            first.split(',').flat_map(|kind| names.iter().map(move |name| (kind, *name))).collect()
        };
        let is_invalid = |c: char| !(c.is_ascii_alphanumeric() || "-._/=,!".contains(c));
        let texts = pairs.iter().map(|(_, name)| *name).chain([&*self.selector, &*self.namespace]);
        if let Some(invalid) = texts.flat_map(str::chars).find(|c| is_invalid(*c)) {
            return failed(&format!("a name or a selector must not contain `{invalid}`"));
        }
        for (kind, name) in pairs {
            let Some(resource) = find_resource(kind, custom) else {
                let hint = kinds::hint(kind, custom);
                return failed(&format!("the server doesn't have a resource type \"{kind}\"{hint}"));
            };
            self.targets.push(Target { resource, name: name.to_owned() });
        }
        Ok(())
    }

    /// Returns the paths of the requests with their queries, one for each object that is named, and one for each kind without
    /// names.
    pub fn paths(&self) -> Vec<String> {
        self.targets.iter().map(|target| self.path(target)).collect()
    }

    fn path(&self, Target { resource, name }: &Target) -> String {
        let Resource { group, version, plural, .. } = resource;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let namespace = if resource.namespaced && !self.everywhere {
            format!("/namespaces/{}", self.namespace)
        } else {
            String::new()
        };
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        let query = if self.selector.is_empty() {
            String::new()
        } else {
            format!("?labelSelector={}", self.selector)
        };
        format!("{root}{namespace}/{plural}{name}{query}")
    }

    /// Returns the media types to request.
    pub fn accept(&self) -> &'static str {
        if matches!(self.output, Output::Table { .. }) { AS_TABLE } else { "application/json" }
    }

    /// Prints the API server's answers, in the order of [`Get::paths`].
    pub fn print_replies(&self, answers: &[Reply]) -> CommandOutput {
        let mut output = CommandOutput::default();
        let found: Vec<(&Target, &Value)> = self
            .targets
            .iter()
            .zip(answers)
            .filter_map(|(target, answer)| answer.as_ref().ok().map(|answer| (target, answer)))
            .collect();
        match &self.output {
            Output::Table { wide } if !found.is_empty() => self.print_tables(&found, *wide, &mut output),
            Output::Table { .. } => {}
            Output::Name => {
                for (target, object) in objects(&found) {
                    output.print(&target.named(name_of(object)));
                }
            }
            _ if found.is_empty() => {}
            format => self.print_objects(&found, format, &mut output),
        }
        for (reason, message) in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            output.stderr += &format!("Error from server ({reason}): {message}\n");
            output.code = 1;
        }
        output
    }

    fn print_objects(&self, found: &[(&Target, &Value)], format: &Output, output: &mut CommandOutput) {
        let object = self.single_or_list(found);
        match format {
            Output::Json => output.print(&serde_json::to_string_pretty(&object).unwrap_or_default()),
            // The output of a template has no final line break.
            Output::Path(pieces) => {
                output.stdout = pieces.iter().map(|piece| piece.evaluate(&object)).collect();
            }
            _ => output.stdout = yaml::to_string(&object).unwrap_or_default(),
        }
    }

    /// Prints a table for each kind, with an empty line between them.
    fn print_tables(&self, found: &[(&Target, &Value)], wide: bool, output: &mut CommandOutput) {
        let kinds = found.chunk_by(|(one, _), (other, _)| one.resource == other.resource);
        let rows = |table: &Value| table["rows"].as_array().map_or(0, Vec::len);
        let tables: Vec<_> = kinds.filter(|tables| tables.iter().any(|(_, table)| rows(table) > 0)).collect();
        if tables.is_empty() {
            let is_namespaced =
                found.iter().all(|(target, _)| target.resource.namespaced) && !self.everywhere;
            output.warn(&if is_namespaced {
                format!("No resources found in {} namespace.", self.namespace)
            } else {
                "No resources found".to_owned()
            });
        }
        let has_kinds = self.targets.iter().any(|target| target.resource != self.targets[0].resource);
        let texts: Vec<String> = tables.iter().map(|tables| self.table(tables, wide, has_kinds)).collect();
        output.stdout = texts.join("\n");
    }

    /// Returns a single object unchanged, and several as the `List` that the client builds.
    fn single_or_list(&self, found: &[(&Target, &Value)]) -> Value {
        if let ([_], [(_, answer)]) = (&self.targets[..], found)
            && answer["items"].is_null()
        {
            return (*answer).clone();
        }
        let typed = objects(found).map(|(target, item)| {
            let mut item = item.clone();
            item["apiVersion"] = json!(target.resource.api_version());
            item["kind"] = json!(target.resource.kind);
            item
        });
        json!({
            "apiVersion": "v1",
            "items": typed.collect::<Vec<_>>(),
            "kind": "List",
            "metadata": { "resourceVersion": "" },
        })
    }

    /// Formats Tables of the API server, which are of one kind, as one. With `has_kinds`, the name of an object has its kind.
    fn table(&self, tables: &[(&Target, &Value)], wide: bool, has_kinds: bool) -> String {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let columns =
            tables.iter().map(|(_, table)| list(&table["columnDefinitions"])).next().unwrap_or_default();
        let shown: Vec<usize> = (0..columns.len())
            .filter(|at| wide || columns[*at]["priority"].as_i64().unwrap_or(0) == 0)
            .collect();
        let mut text = String::new();
        if self.headers {
            let heads =
                shown.iter().map(|at| columns[*at]["name"].as_str().unwrap_or_default().to_uppercase());
            text += &line("NAMESPACE", self.everywhere, heads);
        }
        for (target, row) in tables
            .iter()
            .flat_map(|(target, table)| list(&table["rows"]).into_iter().map(move |row| (target, row)))
        {
            let cells = shown.iter().map(|at| match &row["cells"][*at] {
                Value::Null => "<none>".to_owned(),
                Value::String(text) if *at == 0 && has_kinds => target.named(text),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            let namespace = row["object"]["metadata"]["namespace"].as_str().unwrap_or_default();
            text += &line(namespace, self.everywhere, cells);
        }
        let laid = TABLE.layout(&text);
        let lines: Vec<&str> = laid.lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }
}

impl Target {
    fn named(&self, name: &str) -> String {
        let kind = self.resource.kind.to_lowercase();
        let group = &self.resource.group;
        if group.is_empty() { format!("{kind}/{name}") } else { format!("{kind}.{group}/{name}") }
    }
}

/// The objects of answers, each with what asked for it.
fn objects<'a>(found: &'a [(&'a Target, &'a Value)]) -> impl Iterator<Item = (&'a Target, &'a Value)> {
    found.iter().flat_map(|(target, answer)| {
        let items = answer["items"].as_array().map_or(std::slice::from_ref(*answer), Vec::as_slice);
        items.iter().map(move |item| (*target, item))
    })
}

fn line(namespace: &str, everywhere: bool, cells: impl Iterator<Item = String>) -> String {
    let first = everywhere.then(|| namespace.to_owned());
    first.into_iter().chain(cells).collect::<Vec<_>>().join("\t") + "\n"
}

fn output(text: &str) -> Result<Output, CommandOutput> {
    Ok(match text {
        "wide" => Output::Table { wide: true },
        "json" => Output::Json,
        "yaml" => Output::Yaml,
        "name" => Output::Name,
        _ => {
            let template = text.strip_prefix("jsonpath=").ok_or_else(|| {
                let known = "json, yaml, name, wide or jsonpath=TEMPLATE";
                CommandOutput::default().fail(&format!("expected {known} as output format, found `{text}`"))
            })?;
            Output::Path(pieces(template).map_err(|why| CommandOutput::default().fail(&why))?)
        }
    })
}

/// Parses `text{.path}{"\n"}`. Does not support `range`.
fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut found = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let Some((before, after)) = rest.split_once('{') else {
            found.push(Piece::Text(rest.to_owned()));
            break;
        };
        if !before.is_empty() {
            found.push(Piece::Text(before.to_owned()));
        }
        let (inside, after) =
            after.split_once('}').ok_or_else(|| format!("unclosed action in the template `{template}`"))?;
        found.push(match serde_json::from_str::<String>(inside) {
            Ok(text) => Piece::Text(text),
            Err(_) => Piece::Path(
                JsonPath::parse(inside).map_err(|_| format!("`{{{inside}}}` is not a valid JSONPath"))?,
            ),
        });
        rest = after;
    }
    Ok(found)
}

impl Piece {
    fn evaluate(&self, object: &Value) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Path(path) => {
                let texts = path.find(object).into_iter().map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                texts.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(line: &str) -> Result<Get, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Get::read(&words, &[]).map_err(|output| output.stderr)
    }

    #[test]
    fn converts_arguments_to_a_request_path() {
        let check = |line: &str, path: &str| assert_eq!(get(line).unwrap().paths(), [path], "{line}");
        check("clusterversion version", "/apis/config.openshift.io/v1/clusterversions/version");
        check("co/etcd -o yaml", "/apis/config.openshift.io/v1/clusteroperators/etcd");
        check("pods -n a -l app=b,c", "/api/v1/namespaces/a/pods?labelSelector=app=b,c");
        check("po -A", "/api/v1/pods");
        check("clusteroperators.config.openshift.io -ojson", "/apis/config.openshift.io/v1/clusteroperators");
        check("cm", "/api/v1/namespaces/default/configmaps");
        let several = |line: &str, paths: &[&str]| assert_eq!(get(line).unwrap().paths(), paths, "{line}");
        several("no a b", &["/api/v1/nodes/a", "/api/v1/nodes/b"]);
        several("no,cm", &["/api/v1/nodes", "/api/v1/namespaces/default/configmaps"]);
        several("no/a ns/b", &["/api/v1/nodes/a", "/api/v1/namespaces/b"]);
    }

    #[test]
    fn reports_invalid_arguments() {
        let check = |line: &str, error: &str| assert!(get(line).unwrap_err().contains(error), "{line}");
        check(
            "clusterverion",
            "doesn't have a resource type \"clusterverion\"; did you mean `clusterversions`?",
        );
        check("nodes -o go-template", "found `go-template`");
        check("nodes -o", "flag needs an argument: -o");
        check("nodes --watch", "unknown flag: --watch");
        check("nodes -\u{e9}x", "unknown flag: -\u{e9}");
        check("nodes -o jsonpath={.a", "unclosed action");
        check("nodes ns/b", "there is no need to specify a resource type as a separate argument");
        check("nodes,pdos", "doesn't have a resource type \"pdos\"; did you mean `pods`?");
        check("nodes a?b", "must not contain `?`");
    }

    #[test]
    fn prints_responses_in_the_requested_format() {
        let object = json!({ "metadata": { "name": "a" }, "status": { "l": [{ "t": "X", "v": true }] } });
        let list = json!({ "items": [object] });
        let printed =
            |line: &str, answer: &Value| get(line).unwrap().print_replies(&[Ok(answer.clone())]).stdout;
        assert_eq!(printed("no/a -o name", &object), "node/a\n");
        assert_eq!(printed("co -o name", &list), "clusteroperator.config.openshift.io/a\n");
        assert_eq!(printed("no a -o jsonpath={.status.l[?(.t=='X')].v}{\"\\n\"}", &object), "true\n");
        assert!(printed("no -o yaml", &list).starts_with("apiVersion: v1\nitems:\n"));
        let table = json!({
            "columnDefinitions": [{ "name": "Name" }, { "name": "Status" }, { "name": "IP", "priority": 1 }],
            "rows": [{ "cells": ["worker-0", "Ready", "10.0.0.1"] }],
        });
        assert_eq!(printed("no", &table), "NAME       STATUS\nworker-0   Ready\n");
        assert_eq!(printed("no -o wide --no-headers", &table), "worker-0   Ready   10.0.0.1\n");
        let none = get("po").unwrap().print_replies(&[Ok(json!({ "columnDefinitions": [], "rows": [] }))]);
        assert_eq!((none.stderr.as_str(), none.code), ("No resources found in default namespace.\n", 0));
    }

    #[test]
    fn prints_several_objects_and_kinds_together() {
        let table = |name: &str| {
            Ok(json!({ "columnDefinitions": [{ "name": "Name" }], "rows": [{ "cells": [name] }] }))
        };
        let missing = Err(("NotFound".to_owned(), "nodes \"b\" not found".to_owned()));
        let print = |line: &str, answers: &[Reply]| get(line).unwrap().print_replies(answers);
        assert_eq!(print("no a b", &[table("a"), table("b")]).stdout, "NAME\na\nb\n");
        assert_eq!(print("no,ns", &[table("a"), table("b")]).stdout, "NAME\nnode/a\n\nNAME\nnamespace/b\n");
        let output = print("no a b", &[table("a"), missing.clone()]);
        let error = "Error from server (NotFound): nodes \"b\" not found\n";
        assert_eq!((&*output.stdout, &*output.stderr, output.code), ("NAME\na\n", error, 1));
        let object = |name: &str| Ok(json!({ "metadata": { "name": name } }));
        assert_eq!(print("no a b -o name", &[object("a"), object("b")]).stdout, "node/a\nnode/b\n");
        let names = print("no a b -o jsonpath={.items[*].metadata.name}", &[object("a"), object("b")]);
        assert_eq!(names.stdout, "a b");
        assert_eq!(print("no b -o yaml", &[missing]).stdout, "");
    }
}
