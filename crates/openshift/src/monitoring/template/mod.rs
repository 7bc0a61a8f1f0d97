//! Templates in the labels and annotations of alert rules: the part of Go's templates, and of the functions that Prometheus
//! adds, that alert rules use. Commands that are not understood stay as they are.

mod commands;
mod functions;
mod humanize;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::commands::{Command, Expression, commands};
use self::functions::call;
use self::syntax::{Action, Block, Node, Opening, nodes};
use crate::promql::{Metrics, NAME, Sample};

/// A value in a template.
#[derive(Debug, Clone)]
enum Item {
    Nothing,
    Flag(bool),
    Number(f64),
    Text(String),
    Labels(BTreeMap<String, String>),
    Sample(Sample),
    Samples(Vec<Sample>),
    /// The alert itself: `.Labels` and `.Value`.
    Alert,
}

impl Item {
    /// Returns whether Go counts a value as true.
    fn is_true(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Flag(flag) => *flag,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Labels(labels) => !labels.is_empty(),
            Self::Samples(samples) => !samples.is_empty(),
            Self::Sample(_) | Self::Alert => true,
        }
    }

    /// The text of a value. `None` for values that rules do not print.
    fn text(&self) -> Option<String> {
        match self {
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

/// Expands a template for a sample of the rule's result. A template with invalid blocks is not expanded.
pub(super) fn expand(template: &str, sample: &Sample, metrics: &dyn Metrics) -> String {
    let Some(nodes) = nodes(template) else { return template.to_owned() };
    let mut labels = sample.labels.clone();
    labels.remove(NAME);
    let variables = vec![
        ("labels".to_owned(), Item::Labels(labels)),
        ("externalLabels".to_owned(), Item::Labels(BTreeMap::new())),
        ("value".to_owned(), Item::Number(sample.value)),
    ];
    let mut scope = Scope { variables, dot: Item::Alert, metrics };
    scope.render(&nodes)
}

/// The variables that a command sees.
struct Scope<'a> {
    variables: Vec<(String, Item)>,
    dot: Item,
    metrics: &'a dyn Metrics,
}

impl Scope<'_> {
    fn render(&mut self, nodes: &[Node<'_>]) -> String {
        nodes.iter().map(|node| self.render_one(node)).collect()
    }

    fn render_one(&mut self, node: &Node<'_>) -> String {
        match node {
            Node::Text(text) => (*text).to_owned(),
            Node::Action(Action { source, command }) => {
                let text = commands(command).and_then(|expression| self.print(&expression));
                text.unwrap_or_else(|| (*source).to_owned())
            }
            Node::Block(block) => {
                let (before, dot) = (self.variables.len(), self.dot.clone());
                let text = self.block(block);
                self.variables.truncate(before);
                self.dot = dot;
                text.unwrap_or_else(|| block.source.to_owned())
            }
        }
    }

    /// The output of a command: nothing for an assignment.
    fn print(&mut self, expression: &Expression) -> Option<String> {
        let value = self.evaluate(&expression.pipeline)?;
        match expression.variables.as_slice() {
            [] => value.text(),
            [name] => {
                self.assign(name, value);
                Some(String::new())
            }
            _ => None,
        }
    }

    fn assign(&mut self, name: &str, value: Item) {
        self.variables.push((name.to_owned(), value));
    }

    /// `None` if its condition is not understood.
    fn block(&mut self, block: &Block<'_>) -> Option<String> {
        let expression = commands(block.condition)?;
        let value = self.evaluate(&expression.pipeline)?;
        if let Opening::Range = block.opening {
            return self.range(block, &expression.variables, value);
        }
        let is_true = value.is_true();
        if let [name] = expression.variables.as_slice() {
            self.assign(name, value.clone());
        }
        if !is_true {
            return Some(self.render(&block.otherwise));
        }
        if let Opening::With = block.opening {
            self.dot = value;
        }
        Some(self.render(&block.body))
    }

    /// Renders the body for each sample. The last variable is the sample, one before it its number.
    fn range(&mut self, block: &Block<'_>, variables: &[String], value: Item) -> Option<String> {
        let samples = match value {
            Item::Samples(samples) => samples,
            Item::Nothing => Vec::new(),
            _ => return None,
        };
        if samples.is_empty() {
            return Some(self.render(&block.otherwise));
        }
        let mut text = String::new();
        for (place, sample) in (0_u32..).zip(samples) {
            let before = self.variables.len();
            self.dot = Item::Sample(sample.clone());
            if let [name, _] = variables {
                self.assign(name, Item::Number(f64::from(place)));
            }
            if let [.., name] = variables {
                self.assign(name, Item::Sample(sample));
            }
            text += &self.render(&block.body);
            self.variables.truncate(before);
        }
        Some(text)
    }

    fn evaluate(&self, pipeline: &[Vec<Command>]) -> Option<Item> {
        let mut piped = None;
        for words in pipeline {
            piped = Some(self.command(words, piped)?);
        }
        piped
    }

    fn command(&self, words: &[Command], piped: Option<Item>) -> Option<Item> {
        let (first, rest) = words.split_first()?;
        if let Command::Function(name) = first {
            let arguments: Option<Vec<Item>> = rest.iter().map(|word| self.word(word)).collect();
            let mut arguments = arguments?;
            arguments.extend(piped);
            return call(name, &arguments, self.metrics);
        }
        if rest.is_empty() && piped.is_none() { self.word(first) } else { None }
    }

    fn word(&self, word: &Command) -> Option<Item> {
        match word {
            Command::Function(name) => call(name, &[], self.metrics),
            Command::Text(text) => Some(Item::Text(text.clone())),
            Command::Number(number) => Some(Item::Number(*number)),
            Command::Pipeline(pipeline) => self.evaluate(pipeline),
            Command::Dot(fields) => {
                fields.iter().try_fold(self.dot.clone(), |of, field| self.field(of, field))
            }
            Command::Variable(name, fields) => {
                let (_, value) = self.variables.iter().rev().find(|(known, _)| known == name)?;
                fields.iter().try_fold(value.clone(), |of, field| self.field(of, field))
            }
        }
    }

    /// A field of a value. A label that is missing is empty.
    fn field(&self, of: Item, field: &str) -> Option<Item> {
        let of_alert = |name: &str| self.variables.iter().find(|(known, _)| known == name);
        match (of, field) {
            (Item::Labels(labels), name) => Some(Item::Text(labels.get(name).cloned().unwrap_or_default())),
            (Item::Sample(sample), "Value") => Some(Item::Number(sample.value)),
            (Item::Sample(sample), "Labels") => Some(Item::Labels(sample.labels)),
            (Item::Alert, "Value") => of_alert("value").map(|(_, value)| value.clone()),
            (Item::Alert, "Labels") => of_alert("labels").map(|(_, labels)| labels.clone()),
            _ => None,
        }
    }
}
