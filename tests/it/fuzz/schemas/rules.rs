//! Random validation rules: expressions over `self`, most of them of the right types.

use serde_json::{Value, json};

use crate::fuzz::dice::Dice;

const TEXTS: &[&str] =
    &["'a'", "'10.0.0.0/8'", "'1.2.3'", "'100m'", "\"\\u00e9\"", "'%s %d'", "'2h'", "'http://a.io/'"];
const CALLS: &[&str] = &[
    "size({})",
    "{}.startsWith('a')",
    "{}.matches('^a+$')",
    "{}.lowerAscii()",
    "{}.split('')",
    "{}.replace('a', 'bb')",
    "{}.substring(1)",
    "{}.find('[0-9]+')",
    "{}.charAt(0)",
    "{}.indexOf('a')",
    "{}.trim()",
    "{}.all(x, x == x)",
    "{}.exists(x, size(string(x)) > 1)",
    "{}.map(x, [x, x])",
    "{}.filter(x, x != null)",
    "{}.sum()",
    "{}.min()",
    "{}.isSorted()",
    "string({})",
    "int({})",
    "double({})",
    "uint({})",
    "bytes({})",
    "timestamp({})",
    "duration({})",
    "type({})",
    "dyn({})",
    "-{}",
    "!{}",
    "quantity({})",
    "isQuantity({})",
    "ip({})",
    "cidr({}).containsIP('10.0.0.1')",
    "url({}).getHost()",
    "semver({})",
    "{}[0]",
    "{}['a']",
    "{}.a",
    "{}.?a.orValue('x')",
    "{}[?0].hasValue()",
    "sets.contains({}, ['a'])",
    "{}.format(['a', 1])",
    "format.named('uuid').value().validate({})",
    "{}.sort()",
    "{}.flatten()",
    "{}.distinct()",
    "{}.reverse()",
    "{}.slice(0, 1)",
    "{}.join(',')",
    "lists.range({})",
    "{}.transformList(i, v, v)",
    "{}.exists_one(x, x == 1)",
    "has({}.a)",
    "cel.bind(x, {}, x)",
    "{}.getSeconds()",
];
const OPERATORS: &[&str] = &["==", "!=", "<", ">=", "+", "-", "*", "/", "%", "&&", "||", "in"];

/// The `x-kubernetes-validations` of a schema.
pub(super) fn rules(dice: &mut Dice, schema: &Value) -> Value {
    (0..dice.number(1, 2)).map(|_| rule(dice, schema)).collect()
}

fn rule(dice: &mut Dice, schema: &Value) -> Value {
    let mut rule = json!({ "rule": test(dice, schema) });
    if dice.one_in(3) {
        rule["message"] = json!(dice.pick(&["no", "", "a\nb", " "]));
    }
    if dice.one_in(4) {
        rule["messageExpression"] = json!(any(dice, 2));
    }
    if dice.one_in(4) {
        rule["reason"] =
            json!(dice.pick(&["FieldValueInvalid", "FieldValueDuplicate", "FieldValueRequired", "Because"]));
    }
    if dice.one_in(4) {
        rule["fieldPath"] = json!(dice.pick(&[".a", ".spec", "['x-y']", ".a.b", ".k[0]", "a", "", ".a["]));
    }
    if dice.one_in(6) {
        rule["optionalOldSelf"] = json!(dice.one_in(2));
    }
    rule
}

/// An expression over a `self` of unknown type, which is a bool unless something goes wrong.
pub(in crate::fuzz) fn truth(dice: &mut Dice) -> String {
    test(dice, &Value::Null)
}

/// An expression that is a bool unless something goes wrong.
fn test(dice: &mut Dice, schema: &Value) -> String {
    let own = match (schema["type"].as_str(), dice.number(0, 2)) {
        (_, 0) => any(dice, 3),
        (Some("string"), _) => "size(self) < 4".to_owned(),
        (Some("integer" | "number"), 1) => "self < 7".to_owned(),
        (Some("integer"), _) => "self % 2 == 0".to_owned(),
        (Some("array"), 1) => "self.all(x, self.exists_one(y, x == y))".to_owned(),
        (Some("array"), _) => "size(self) < 3".to_owned(),
        (Some("object"), _) => {
            let name = schema["properties"].as_object().and_then(|fields| fields.keys().next());
            name.map_or_else(
                || "size(self) > 0".to_owned(),
                |name| format!("!has(self.{name}) || self.{name} == self.{name}"),
            )
        }
        _ => "self == self".to_owned(),
    };
    match dice.number(0, 5) {
        0 => format!("{own} && self == oldSelf"),
        1 => format!("!({own})"),
        2 => "true".to_owned(),
        3 => format!("{own} ? true : {}", any(dice, 2)),
        _ => own,
    }
}

/// Any expression.
pub(in crate::fuzz) fn any(dice: &mut Dice, depth: u32) -> String {
    if depth == 0 || dice.one_in(5) {
        return match dice.number(0, 7) {
            0 => dice.integer().to_string(),
            1 => format!("{:?}", dice.float()),
            2 => "oldSelf".to_owned(),
            3 => dice.pick(TEXTS).to_owned(),
            4 => "[1, 2, 'a']".to_owned(),
            5 => "{'a': 1, 'b': [true]}".to_owned(),
            _ => "self".to_owned(),
        };
    }
    let inner = any(dice, depth - 1);
    if dice.one_in(3) {
        let other = any(dice, depth - 1);
        return format!("({inner} {} {other})", dice.pick(OPERATORS));
    }
    dice.pick(CALLS).replace("{}", &inner)
}
