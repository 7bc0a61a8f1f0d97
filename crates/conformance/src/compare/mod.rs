//! The comparison of two answers: what differs from run to run is replaced, the rest must be equal.

mod cause;
mod shape;

pub use cause::{Class, Difference, differences};
pub use shape::{Volatile, shape, sort};

use serde_json::Value;

/// Lists the places at which two values differ. Numbers are equal if their values are.
pub fn compare(want: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    let short = |value: &Value| value.to_string().chars().take(420).collect::<String>();
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => compare(value, other, &format!("{path}/{key}"), out),
                    None => out.push(format!("{path}/{key}: missing, want {}", short(value))),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                out.push(format!("{path}/{key}: unexpected {}", short(value)));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                compare(one, other, &format!("{path}/{index}"), out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if want == got => {}
        _ => out.push(format!("{path}: want {} got {}", short(want), short(got))),
    }
}
