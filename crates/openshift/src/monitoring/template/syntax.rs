//! Splits a template into texts, commands and blocks.

/// A part of a template.
#[derive(Debug)]
pub(super) enum Node<'t> {
    Text(&'t str),
    Action(Action<'t>),
    Block(Block<'t>),
}

/// A command, with its source in braces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Action<'t> {
    pub(super) source: &'t str,
    pub(super) command: &'t str,
}

/// The kind of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening {
    If,
    With,
    Range,
}

/// A block from its opening command to its `end`.
#[derive(Debug)]
pub(super) struct Block<'t> {
    pub(super) source: &'t str,
    pub(super) opening: Opening,
    pub(super) condition: &'t str,
    pub(super) body: Vec<Node<'t>>,
    pub(super) otherwise: Vec<Node<'t>>,
}

/// The parts of a template. `None` if its blocks are invalid.
pub(super) fn nodes(template: &str) -> Option<Vec<Node<'_>>> {
    let mut reader = Reader { template, at: 0, depth: 0 };
    let (nodes, end) = reader.nodes()?;
    matches!(end, End::OfTemplate).then_some(nodes)
}

/// The reason why a list of parts ends.
enum End<'t> {
    OfTemplate,
    OfBlock,
    /// The command after `else`, or an empty text.
    Else(&'t str),
}

/// A deeper template is not expanded.
const DEEPEST: usize = 32;

struct Reader<'t> {
    template: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn nodes(&mut self) -> Option<(Vec<Node<'t>>, End<'t>)> {
        let mut nodes = Vec::new();
        loop {
            let start = self.at;
            let rest = &self.template[start..];
            let Some((text, action)) = next_action(rest) else {
                nodes.push(Node::Text(rest));
                self.at = self.template.len();
                return Some((nodes, End::OfTemplate));
            };
            nodes.push(Node::Text(text));
            let begin = start + (action.source.as_ptr() as usize - rest.as_ptr() as usize);
            self.at = begin + action.source.len();
            let (word, argument) =
                action.command.split_once(char::is_whitespace).unwrap_or((action.command, ""));
            match word {
                "end" => return Some((nodes, End::OfBlock)),
                "else" => return Some((nodes, End::Else(argument.trim()))),
                _ => nodes.push(match opening(word) {
                    Some(opening) => Node::Block(self.block(begin, opening, argument.trim())?),
                    None => Node::Action(action),
                }),
            }
        }
    }

    fn block(&mut self, begin: usize, opening: Opening, condition: &'t str) -> Option<Block<'t>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let (body, end) = self.nodes()?;
        let otherwise = match end {
            End::OfBlock => Vec::new(),
            End::OfTemplate => return None,
            End::Else("") => match self.nodes()? {
                (nodes, End::OfBlock) => nodes,
                _ => return None,
            },
            End::Else(next) => {
                let (word, argument) = next.split_once(char::is_whitespace)?;
                vec![Node::Block(self.block(begin, opening_of_else(word)?, argument.trim())?)]
            }
        };
        self.depth -= 1;
        Some(Block { source: &self.template[begin..self.at], opening, condition, body, otherwise })
    }
}

fn opening(word: &str) -> Option<Opening> {
    match word {
        "if" => Some(Opening::If),
        "with" => Some(Opening::With),
        "range" => Some(Opening::Range),
        _ => None,
    }
}

fn opening_of_else(word: &str) -> Option<Opening> {
    opening(word).filter(|opening| !matches!(opening, Opening::Range))
}

/// The text before the next command, and that command. `{{-` and `-}}` remove the space beside them.
fn next_action(rest: &str) -> Option<(&str, Action<'_>)> {
    let begin = rest.find("{{")?;
    let length = end_of(&rest[begin + 2..])?;
    let source = &rest[begin..begin + 2 + length + 2];
    let (mut text, mut command) = (&rest[..begin], &rest[begin + 2..begin + 2 + length]);
    let mut source_end = source.len();
    if let Some(inner) = command.strip_prefix('-').filter(|inner| inner.starts_with(char::is_whitespace)) {
        (text, command) = (text.trim_end(), inner);
    }
    if let Some(inner) = command.strip_suffix('-').filter(|inner| inner.ends_with(char::is_whitespace)) {
        command = inner;
        let after = &rest[begin + source.len()..];
        source_end += after.len() - after.trim_start().len();
    }
    Some((text, Action { source: &rest[begin..begin + source_end], command: command.trim() }))
}

/// The length of a command: until the braces that are not in a text.
fn end_of(command: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in command.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if letter == '\\' => escaped = true,
            Some(open) if open == letter => quote = None,
            None if letter == '"' || letter == '`' => quote = Some(letter),
            None if command[at..].starts_with("}}") => return Some(at),
            Some(_) | None => {}
        }
    }
    None
}
