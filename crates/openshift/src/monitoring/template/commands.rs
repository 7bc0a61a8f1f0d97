//! Reads one command of a template: `$value | humanizeDuration`.

/// A command with the variables that get its result.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) variables: Vec<String>,
    pub(super) pipeline: Vec<Vec<Command>>,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Function(String),
    Text(String),
    Number(f64),
    /// `.` and its fields.
    Dot(Vec<String>),
    /// A variable without its `$`, and its fields.
    Variable(String, Vec<String>),
    Pipeline(Vec<Vec<Command>>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(Command),
    Open,
    Close,
    Pipe,
    Comma,
    Assign,
}

/// The command in this text. `None` if it is not understood.
pub(super) fn commands(text: &str) -> Option<Expression> {
    let tokens = tokens(text)?;
    let assign = tokens.iter().position(|token| *token == Token::Assign);
    let variables = match assign {
        None => Vec::new(),
        Some(at) => {
            tokens[..at].split(|token| *token == Token::Comma).map(variable).collect::<Option<_>>()?
        }
    };
    let mut rest = &tokens[assign.map_or(0, |at| at + 1)..];
    let pipeline = pipeline(&mut rest, 0)?;
    rest.is_empty().then_some(Expression { variables, pipeline })
}

fn variable(tokens: &[Token]) -> Option<String> {
    match tokens {
        [Token::Word(Command::Variable(name, fields))] if fields.is_empty() => Some(name.clone()),
        _ => None,
    }
}

/// A deeper command is not expanded.
const DEEPEST: usize = 32;

/// Takes a pipeline from the front of the tokens, up to a closing parenthesis.
fn pipeline(tokens: &mut &[Token], depth: usize) -> Option<Vec<Vec<Command>>> {
    let mut pipeline = vec![Vec::new()];
    while let Some((token, rest)) = tokens.split_first().filter(|(token, _)| **token != Token::Close) {
        *tokens = rest;
        match token {
            Token::Word(word) => pipeline.last_mut()?.push(word.clone()),
            Token::Pipe => pipeline.push(Vec::new()),
            Token::Open if depth < DEEPEST => {
                let inner = self::pipeline(tokens, depth + 1)?;
                *tokens = tokens.strip_prefix(&[Token::Close])?;
                pipeline.last_mut()?.push(Command::Pipeline(inner));
            }
            _ => return None,
        }
    }
    pipeline.iter().all(|words| !words.is_empty()).then_some(pipeline)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(letter) = rest.chars().next() {
        let (token, length) = match letter {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '|' => (Token::Pipe, 1),
            ',' => (Token::Comma, 1),
            ':' => rest.starts_with(":=").then_some((Token::Assign, 2))?,
            '"' => quoted(&rest[1..])?,
            '`' => {
                let length = rest[1..].find('`')?;
                (Token::Word(Command::Text(rest[1..=length].to_owned())), length + 2)
            }
            _ => {
                let is_end = |letter: char| letter.is_whitespace() || "()|,:=\"`".contains(letter);
                let length = rest.find(is_end).unwrap_or(rest.len());
                (Token::Word(word(&rest[..length])?), length)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// A text after its opening double quote, and its length with both quotes.
fn quoted(rest: &str) -> Option<(Token, usize)> {
    let mut text = String::new();
    let mut letters = rest.char_indices();
    loop {
        match letters.next()? {
            (at, '"') => return Some((Token::Word(Command::Text(text)), at + 2)),
            (_, '\\') => text.push(match letters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            }),
            (_, letter) => text.push(letter),
        }
    }
}

fn word(text: &str) -> Option<Command> {
    if text == "." {
        return Some(Command::Dot(Vec::new()));
    }
    if let Ok(number) = text.parse() {
        return Some(Command::Number(number));
    }
    if let Some(rest) = text.strip_prefix('.') {
        return fields(rest).map(Command::Dot);
    }
    if let Some(rest) = text.strip_prefix('$') {
        let mut path = fields(rest)?;
        let name = path.remove(0);
        return Some(Command::Variable(name, path));
    }
    is_name(text).then(|| Command::Function(text.to_owned()))
}

fn fields(text: &str) -> Option<Vec<String>> {
    text.split('.').map(|field| is_name(field).then(|| field.to_owned())).collect()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
