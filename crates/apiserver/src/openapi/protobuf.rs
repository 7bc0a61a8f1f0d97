//! The OpenAPI v2 document in protobuf, for older clients: the messages of gnostic's `OpenAPIv2.proto`, with
//! its field numbers.

use serde_json::Value;

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, number: u32, message: &Self) {
        self.bytes(number, &message.0);
    }

    /// Writes a string, if there is one.
    fn text(&mut self, number: u32, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn texts(&mut self, number: u32, value: &Value) {
        for text in value.as_array().into_iter().flatten() {
            self.text(number, text);
        }
    }

    fn flag(&mut self, number: u32, value: &Value) {
        if value == &Value::Bool(true) {
            self.varint(u64::from(number) << 3);
            self.varint(1);
        }
    }

    fn double(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_f64() {
            self.varint(u64::from(number) << 3 | 1);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn int(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_u64() {
            self.varint(u64::from(number) << 3);
            self.varint(value);
        }
    }

    /// Writes a map as a list of names and messages.
    fn named(&mut self, number: u32, map: &Value, write: impl Fn(&Value) -> Self) {
        for (name, value) in map.as_object().into_iter().flatten() {
            let mut entry = Self::default();
            entry.bytes(1, name.as_bytes());
            entry.message(2, &write(value));
            self.message(number, &entry);
        }
    }

    /// Writes all keywords that begin with `x-`.
    fn extensions(&mut self, number: u32, of: &Value) {
        for (name, value) in of.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
            let mut entry = Self::default();
            entry.bytes(1, name.as_bytes());
            entry.message(2, &any(value));
            self.message(number, &entry);
        }
    }
}

/// A value as YAML, which includes JSON.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.bytes(2, value.to_string().as_bytes());
    message
}

/// A message that contains another one.
fn wrapped(number: u32, inner: &Message) -> Message {
    let mut message = Message::default();
    message.message(number, inner);
    message
}

/// Encodes an OpenAPI v2 document.
pub(super) fn document(document: &Value) -> Vec<u8> {
    let mut message = Message::default();
    message.text(1, &document["swagger"]);
    let mut info = Message::default();
    info.text(1, &document["info"]["title"]);
    info.text(2, &document["info"]["version"]);
    message.message(2, &info);
    let mut paths = Message::default();
    paths.named(2, &document["paths"], path);
    message.message(8, &paths);
    let mut definitions = Message::default();
    definitions.named(1, &document["definitions"], schema);
    message.message(9, &definitions);
    message.0
}

fn path(path: &Value) -> Message {
    let mut message = Message::default();
    for (number, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if path[method].is_object() {
            message.message(number, &operation(&path[method]));
        }
    }
    parameters(&mut message, 9, &path["parameters"]);
    message
}

fn operation(operation: &Value) -> Message {
    let mut message = Message::default();
    message.texts(1, &operation["tags"]);
    message.text(5, &operation["operationId"]);
    message.texts(6, &operation["produces"]);
    message.texts(7, &operation["consumes"]);
    parameters(&mut message, 8, &operation["parameters"]);
    let mut responses = Message::default();
    responses.named(1, &operation["responses"], |response| {
        let mut inner = Message::default();
        inner.text(1, &response["description"]);
        inner.message(2, &wrapped(1, &schema(&response["schema"])));
        wrapped(1, &inner)
    });
    message.message(9, &responses);
    message.extensions(13, operation);
    message
}

fn parameters(message: &mut Message, number: u32, parameters: &Value) {
    for parameter in parameters.as_array().into_iter().flatten() {
        let inner = match parameter["in"].as_str() {
            Some("body") => wrapped(1, &body(parameter)),
            Some("path") => wrapped(2, &wrapped(4, &plain(parameter, 5))),
            _ => wrapped(2, &wrapped(3, &plain(parameter, 6))),
        };
        message.message(number, &wrapped(1, &inner));
    }
}

fn body(parameter: &Value) -> Message {
    let mut message = Message::default();
    message.text(2, &parameter["name"]);
    message.text(3, &parameter["in"]);
    message.flag(4, &parameter["required"]);
    message.message(5, &schema(&parameter["schema"]));
    message
}

/// A parameter of the path or query; `kind` is the field number of its type.
fn plain(parameter: &Value, kind: u32) -> Message {
    let mut message = Message::default();
    message.flag(1, &parameter["required"]);
    message.text(2, &parameter["in"]);
    message.text(3, &parameter["description"]);
    message.text(4, &parameter["name"]);
    message.text(kind, &parameter["type"]);
    message
}

fn schema(of: &Value) -> Message {
    const SIZES: [(u32, &str); 6] = [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ];
    let mut message = Message::default();
    message.text(1, &of["$ref"]);
    message.text(2, &of["format"]);
    message.text(3, &of["title"]);
    message.text(4, &of["description"]);
    if !of["default"].is_null() {
        message.message(5, &any(&of["default"]));
    }
    for (number, field) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        message.double(number, &of[field]);
    }
    message.flag(8, &of["exclusiveMaximum"]);
    message.flag(10, &of["exclusiveMinimum"]);
    message.text(13, &of["pattern"]);
    for (number, field) in SIZES {
        message.int(number, &of[field]);
    }
    message.flag(16, &of["uniqueItems"]);
    message.texts(19, &of["required"]);
    for value in of["enum"].as_array().into_iter().flatten() {
        message.message(20, &any(value));
    }
    match &of["additionalProperties"] {
        inner @ Value::Object(_) => message.message(21, &wrapped(1, &schema(inner))),
        Value::Bool(true) => {
            let mut anything = Message::default();
            anything.flag(2, &Value::Bool(true));
            message.message(21, &anything);
        }
        _ => {}
    }
    if let Some(kind) = of["type"].as_str() {
        let mut types = Message::default();
        types.bytes(1, kind.as_bytes());
        message.message(22, &types);
    }
    if of["items"].is_object() {
        message.message(23, &wrapped(1, &schema(&of["items"])));
    }
    if of["properties"].is_object() {
        let mut properties = Message::default();
        properties.named(1, &of["properties"], schema);
        message.message(25, &properties);
    }
    message.extensions(31, of);
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_encoded_with_its_field_numbers() {
        let encoded = schema(&json!({ "type": "object", "$ref": "r", "maxItems": 300, "required": ["a"] })).0;
        let wanted = [
            &[0x0a, 1, b'r'][..],
            &[0x70, 0xac, 0x02],
            &[0x9a, 0x01, 1, b'a'],
            &[0xb2, 0x01, 8, 0x0a, 6, b'o', b'b', b'j', b'e', b'c', b't'],
        ];
        assert_eq!(encoded, wanted.concat());
    }
}
