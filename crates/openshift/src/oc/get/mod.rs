//! The client `oc get`: parses its arguments, and prints the response.

mod kinds;

use serde_json::{Value, json};
use windtunnel_core::jsonpath::JsonPath;
use windtunnel_core::resources::CLUSTER_VERSIONS;
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
    resource: Resource,
    name: String,
    namespace: String,
    everywhere: bool,
    selector: String,
    headers: bool,
    output: Output,
}

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
            resource: CLUSTER_VERSIONS,
            name: String::new(),
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
        get.set_target(&plain, custom)?;
        Ok(get)
    }

    fn set_target(&mut self, plain: &[&str], custom: &[CustomKind]) -> Result<(), CommandOutput> {
        let (kind, name) = match *plain {
            [] => {
                let missing = "You must specify the type of resource to get. ";
                return Err(CommandOutput::default().fail(missing));
            }
            [one] => one.split_once('/').unwrap_or((one, "")),
            [kind, name] => (kind, name),
            [_, _, more, ..] => {
                let error = format!("expected the name of one object, found `{more}` after it");
                return Err(CommandOutput::default().fail(&error));
            }
        };
        let is_invalid = |c: char| !(c.is_ascii_alphanumeric() || "-._/=,!".contains(c));
        if let Some(invalid) =
            self.selector.chars().chain(name.chars()).chain(self.namespace.chars()).find(|c| is_invalid(*c))
        {
            return Err(
                CommandOutput::default().fail(&format!("a name or a selector must not contain `{invalid}`"))
            );
        }
        self.resource = find_resource(kind, custom).ok_or_else(|| {
            let hint = kinds::hint(kind, custom);
            CommandOutput::default()
                .fail(&format!("the server doesn't have a resource type \"{kind}\"{hint}"))
        })?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// Returns the path of the request with its query.
    pub fn path(&self) -> String {
        let Resource { group, version, plural, .. } = &self.resource;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let namespace = if self.resource.namespaced && !self.everywhere {
            format!("/namespaces/{}", self.namespace)
        } else {
            String::new()
        };
        let name = if self.name.is_empty() { String::new() } else { format!("/{}", self.name) };
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

    /// Prints the API server's response.
    pub fn print_response(&self, answer: &Value) -> CommandOutput {
        let mut output = CommandOutput::default();
        let items = answer["items"].as_array().or_else(|| answer["rows"].as_array());
        if items.is_some_and(Vec::is_empty) && matches!(self.output, Output::Table { .. }) {
            let place = if self.resource.namespaced && !self.everywhere {
                format!("No resources found in {} namespace.", self.namespace)
            } else {
                "No resources found".to_owned()
            };
            output.warn(&place);
            return output;
        }
        let object = self.single_or_list(answer);
        match &self.output {
            Output::Table { wide } => output.stdout = self.table(answer, *wide),
            Output::Json => output.print(&serde_json::to_string_pretty(&object).unwrap_or_default()),
            Output::Yaml => output.stdout = yaml::to_string(&object).unwrap_or_default(),
            Output::Name => {
                let one = std::slice::from_ref(answer);
                for object in items.map_or(one, Vec::as_slice) {
                    output.print(&self.named(name_of(object)));
                }
            }
            // The output of a template has no final line break.
            Output::Path(pieces) => {
                output.stdout = pieces.iter().map(|piece| piece.evaluate(&object)).collect();
            }
        }
        output
    }

    /// Prints the API server's error.
    pub fn refused(reason: &str, message: &str) -> CommandOutput {
        CommandOutput {
            stdout: String::new(),
            stderr: format!("Error from server ({reason}): {message}\n"),
            code: 1,
        }
    }

    /// Returns a single object unchanged, and several as the `List` that the client builds.
    fn single_or_list(&self, answer: &Value) -> Value {
        let Some(items) = answer["items"].as_array() else { return answer.clone() };
        let typed = items.iter().map(|item| {
            let mut item = item.clone();
            item["apiVersion"] = json!(self.resource.api_version());
            item["kind"] = json!(self.resource.kind);
            item
        });
        json!({
            "apiVersion": "v1",
            "items": typed.collect::<Vec<_>>(),
            "kind": "List",
            "metadata": { "resourceVersion": "" },
        })
    }

    fn named(&self, name: &str) -> String {
        let kind = self.resource.kind.to_lowercase();
        let group = &self.resource.group;
        if group.is_empty() { format!("{kind}/{name}") } else { format!("{kind}.{group}/{name}") }
    }

    /// Formats a Table of the API server.
    fn table(&self, table: &Value, wide: bool) -> String {
        let empty = Vec::new();
        let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
        let columns = list(&table["columnDefinitions"]);
        let shown: Vec<usize> = (0..columns.len())
            .filter(|at| wide || columns[*at]["priority"].as_i64().unwrap_or(0) == 0)
            .collect();
        let mut text = String::new();
        if self.headers {
            let heads =
                shown.iter().map(|at| columns[*at]["name"].as_str().unwrap_or_default().to_uppercase());
            text += &line("NAMESPACE", self.everywhere, heads);
        }
        for row in list(&table["rows"]) {
            let cells = shown.iter().map(|at| match &row["cells"][*at] {
                Value::Null => "<none>".to_owned(),
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
        let check = |line: &str, path: &str| assert_eq!(get(line).unwrap().path(), path, "{line}");
        check("clusterversion version", "/apis/config.openshift.io/v1/clusterversions/version");
        check("co/etcd -o yaml", "/apis/config.openshift.io/v1/clusteroperators/etcd");
        check("pods -n a -l app=b,c", "/api/v1/namespaces/a/pods?labelSelector=app=b,c");
        check("po -A", "/api/v1/pods");
        check("clusteroperators.config.openshift.io -ojson", "/apis/config.openshift.io/v1/clusteroperators");
        check("cm", "/api/v1/namespaces/default/configmaps");
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
        check("nodes a b", "the name of one object, found `b`");
        check("nodes a?b", "must not contain `?`");
    }

    #[test]
    fn prints_responses_in_the_requested_format() {
        let object = json!({ "metadata": { "name": "a" }, "status": { "l": [{ "t": "X", "v": true }] } });
        let list = json!({ "items": [object] });
        let printed = |line: &str, answer: &Value| get(line).unwrap().print_response(answer).stdout;
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
        let none = get("po").unwrap().print_response(&json!({ "columnDefinitions": [], "rows": [] }));
        assert_eq!((none.stderr.as_str(), none.code), ("No resources found in default namespace.\n", 0));
    }
}
