//! The texts in a config that have a format: URLs, data URLs, and the contents of systemd units.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The scheme of a URL, in lower case. Fails if the text is no URL; the scheme is empty if it has none.
pub(super) fn scheme(url: &str) -> Option<String> {
    if url.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    let url = url.split('#').next().unwrap_or_default();
    let (scheme, rest) = split_scheme(url)?;
    if scheme.is_empty() {
        let segment = rest.split(['/', '?']).next().unwrap_or_default();
        return (!segment.contains(':') && has_valid_escapes(rest)).then(String::new);
    }
    let is_valid = !rest.starts_with('/') || has_valid_escapes(rest.split('?').next().unwrap_or_default());
    is_valid.then(|| scheme.to_ascii_lowercase())
}

fn split_scheme(url: &str) -> Option<(&str, &str)> {
    for (index, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((&url[..index], &url[index + 1..])),
            _ => break,
        }
    }
    Some(("", url))
}

/// Returns whether each `%` begins two hexadecimal digits.
fn has_valid_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|part| {
        let mut digits = part.bytes().take(2);
        digits.len() >= 2 && digits.all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Decodes a data URL.
///
/// # Errors
/// The error in it.
pub(super) fn decode_data_url(url: &str) -> Result<Vec<u8>, String> {
    let rest = url.strip_prefix("data:").ok_or("missing data prefix")?;
    let (is_base64, data) = data_part(rest)?;
    if is_base64 { decode_base64(data) } else { decode_escaped(data) }
}

fn is_token(letter: char) -> bool {
    letter.is_ascii() && !letter.is_ascii_control() && letter != ' ' && !"()<>@,;:\\\"/[]?=".contains(letter)
}

/// The data after the media type and its parameters, and whether it is base64.
fn data_part(text: &str) -> Result<(bool, &str), String> {
    let mut rest = text;
    match rest.chars().next() {
        None => return Err("missing comma before data".to_owned()),
        Some(';' | ',') => {}
        Some(letter) if is_token(letter) => rest = after_media_type(rest)?,
        Some(_) => return Err("invalid character after data prefix".to_owned()),
    }
    loop {
        match rest.chars().next() {
            None => return Err("missing comma before data".to_owned()),
            Some(',') => return Ok((false, &rest[1..])),
            Some(';') => {}
            Some(_) => return Err("expected semicolon or comma".to_owned()),
        }
        let parameter = &rest[1..];
        let end = parameter.find(|letter| !is_token(letter));
        let (name, after) = parameter.split_at(end.unwrap_or(parameter.len()));
        match after.chars().next() {
            None => return Err("unterminated parameter sequence".to_owned()),
            Some(',' | '=') if name.is_empty() => return Err("unterminated parameter sequence".to_owned()),
            Some(',') if name == "base64" => return Ok((true, &after[1..])),
            Some(',') => return Err(format!("expected base64, got {name}")),
            Some('=') => rest = after_value(&after[1..])?,
            Some(_) => return Err("invalid character for parameter attribute".to_owned()),
        }
    }
}

fn after_media_type(text: &str) -> Result<&str, String> {
    let kind = text.find(|letter| !is_token(letter)).ok_or("missing media type slash")?;
    if !text[kind..].starts_with('/') {
        return Err("invalid character for media type".to_owned());
    }
    let known = ["text", "image", "audio", "video", "application", "message", "multipart", "x-", "X-"];
    if !known.iter().any(|known| text.starts_with(known)) {
        return Err("invalid media type".to_owned());
    }
    let rest = &text[kind + 1..];
    let end = rest.find(|letter| !is_token(letter)).ok_or("incomplete media type")?;
    if rest[end..].starts_with([';', ',']) {
        Ok(&rest[end..])
    } else {
        Err("invalid character for media subtype".to_owned())
    }
}

fn after_value(text: &str) -> Result<&str, String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut letters = quoted.char_indices();
        while let Some((index, letter)) = letters.next() {
            match letter {
                '"' => return Ok(&quoted[index + 1..]),
                '\\' => match letters.next() {
                    None => return Err("unexpected eof".to_owned()),
                    Some((_, letter)) if !letter.is_ascii() => {
                        return Err("invalid escaped character".to_owned());
                    }
                    Some(_) => {}
                },
                letter if !letter.is_ascii() => {
                    return Err("invalid character for parameter value".to_owned());
                }
                _ => {}
            }
        }
        return Err("unclosed quoted string".to_owned());
    }
    let end = text.find(|letter| !is_token(letter)).ok_or("missing comma before data")?;
    if end > 0 && text[end..].starts_with([';', ',']) {
        Ok(&text[end..])
    } else {
        Err("invalid character for parameter value".to_owned())
    }
}

fn decode_escaped(data: &str) -> Result<Vec<u8>, String> {
    let is_allowed =
        |letter: char| letter.is_ascii() && !letter.is_ascii_control() && !" <>#\"{}|\\^[]`".contains(letter);
    if !data.chars().all(is_allowed) {
        return Err("invalid data character".to_owned());
    }
    let mut bytes = Vec::with_capacity(data.len());
    let mut rest = data.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut value = 0;
        for _ in 0..2 {
            let digit = rest.next().ok_or("rfc2396: unexpected end of unescape sequence")?;
            let digit = char::from(digit).to_digit(16);
            value = value * 16 + digit.ok_or("rfc2396: invalid char 0x25 in unescape sequence")?;
        }
        bytes.push(u8::try_from(value).unwrap_or_default());
    }
    Ok(bytes)
}

fn decode_base64(data: &str) -> Result<Vec<u8>, String> {
    let is_known = |letter: char| letter.is_ascii_alphanumeric() || "+/=\n".contains(letter);
    if !data.chars().all(is_known) {
        return Err("invalid data character".to_owned());
    }
    let compact: String = data.chars().filter(|letter| *letter != '\n').collect();
    STANDARD.decode(&compact).map_err(|_| {
        let end = compact.find('=').unwrap_or(compact.len());
        // Padding before the last two characters, or none where it is needed.
        let at = if end + 2 < compact.len() && end % 4 >= 2 { end + 4 - end % 4 } else { end };
        let at = if end % 4 == 1 && end == compact.len() { end - 1 } else { at };
        format!("illegal base64 data at input byte {at}")
    })
}

/// The options of a systemd unit, as the section and the name of each.
///
/// # Errors
/// A text that systemd does not understand.
pub(super) fn unit_sections(contents: &str) -> Result<Vec<String>, String> {
    let mut sections = Vec::new();
    let mut section: Option<&str> = None;
    let mut rest = contents;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        match (letter, section) {
            ('[', _) => {
                let end = after.find(']').ok_or("unable to find end of section")?;
                let (name, line) = (&after[..end], &after[end + 1..]);
                let (garbage, next) = split_line(line);
                if !garbage.trim().is_empty() {
                    return Err(format!("found garbage after section name : {:?}", garbage.trim()));
                }
                (section, rest) = (Some(name), next);
            }
            ('#' | ';', _) => rest = after_continued(after),
            (_, None) => rest = after,
            (letter, Some(_)) if letter.is_whitespace() => rest = after,
            (_, Some(name)) => {
                let end = rest.find(['=', '\n', '\r']).ok_or("EOF")?;
                if !rest[end..].starts_with('=') {
                    return Err("unexpected newline encountered while parsing option name".to_owned());
                }
                sections.push(name.to_owned());
                rest = after_value_lines(&rest[end + 1..]);
            }
        }
    }
    Ok(sections)
}

fn split_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// The text after a comment, which a backslash at its end continues.
fn after_continued(text: &str) -> &str {
    let mut rest = text;
    loop {
        let (line, next) = split_line(rest);
        rest = next;
        if next.is_empty() || !line.strip_suffix(' ').unwrap_or(line).ends_with('\\') {
            return rest;
        }
    }
}

/// The text after the value of an option, which a backslash at its end continues.
fn after_value_lines(text: &str) -> &str {
    let mut rest = text;
    loop {
        let (line, next) = split_line(rest);
        rest = next;
        if next.is_empty() || line.trim().is_empty() || !line.ends_with('\\') {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_schemes() {
        for (url, expected) in [
            ("https://a/b%20c", Some("https")),
            ("DATA:,x y", Some("data")),
            ("data:,%zz", Some("data")),
            ("/etc/a", Some("")),
            ("1a:b", None),
            (":a", None),
            ("data:,a\nb", None),
            ("http://a/%zz", None),
        ] {
            assert_eq!(scheme(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn data_urls_are_decoded() {
        let decode = |url: &str| decode_data_url(url).map(|bytes| String::from_utf8(bytes).unwrap());
        for (url, expected) in [
            ("data:,a%20b", Ok("a b")),
            ("data:text/plain;charset=utf-8,a", Ok("a")),
            ("data:text/plain;charset=utf-8;base64,YQ==", Ok("a")),
            ("data:;base64,", Ok("")),
            ("data:a", Err("missing media type slash")),
            ("data:,a b", Err("invalid data character")),
            ("data:,%4", Err("rfc2396: unexpected end of unescape sequence")),
            ("data:;base64,Y", Err("illegal base64 data at input byte 0")),
            ("data:;gzip,a", Err("expected base64, got gzip")),
        ] {
            assert_eq!(decode(url), expected.map(str::to_owned).map_err(str::to_owned), "{url}");
        }
    }

    #[test]
    fn units_have_sections_and_options() {
        let sections = unit_sections("# a\n[Unit]\nA=1 \\\n 2\n\n[Install]\nWantedBy=x").unwrap();
        assert_eq!(sections, ["Unit", "Install"]);
        for (text, why) in [
            ("[Unit\n", "unable to find end of section"),
            ("[Unit]\nA\n", "unexpected newline encountered while parsing option name"),
            ("[Unit]\nA", "EOF"),
        ] {
            assert_eq!(unit_sections(text).unwrap_err(), why, "{text}");
        }
    }
}
