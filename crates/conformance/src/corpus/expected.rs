//! The recorded body of an answer.

use serde_json::Value;

use super::{Env, edit};

/// The body of a recorded response. One that is only `${name}` is that definition, with the changes in `set` and
/// `remove`.
pub fn expected(response: &Value, env: &Env) -> Value {
    let body = &response["body"];
    let name = body.as_str().and_then(|text| text.strip_prefix("${")).and_then(|text| text.strip_suffix('}'));
    let Some(named) = name.and_then(|name| env.get(name)) else { return body.clone() };
    let mut body = named.clone();
    edit(&mut body, response);
    body
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recorded_body_may_be_a_change_of_a_definition() {
        let env = Env::from([("pod".to_owned(), json!({"a": 1, "b": 2}))]);
        let response = json!({"body": "${pod}", "set": {"/a": 3}, "remove": ["/b"]});
        assert_eq!(expected(&response, &env), json!({"a": 3}));
        assert_eq!(expected(&json!({"body": "${none}"}), &env), json!("${none}"));
    }
}
