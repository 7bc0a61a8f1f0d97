//! Tests of expressions: values, errors and error messages.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::types::Type;
use super::value::{EvalError, Value};
use super::{CompileError, Environment, Program, json};

fn environment(minor: u32) -> Environment {
    Environment { variables: [("self", Type::Dyn)].into(), minor, makes_objects: false }
}

/// Evaluates an expression over an untyped `self`. Returns the value as JSON, or the error message.
fn evaluate(source: &str, input: &Json) -> Result<Json, String> {
    let program = Program::compile(source, &environment(36)).map_err(|error| error.to_string())?;
    let variables = [json::from_json(input, None)];
    let outcome = program.run(&variables, 1_000_000).outcome;
    outcome.and_then(|value| json::to_json(&value)).map_err(|fault| fault.text().to_owned())
}

fn check(cases: &[(&str, Json)]) {
    let input = json!({"n": 3, "f": 1.5, "s": "Hello", "l": [3, 1, 2], "m": {"a": 1, "b": 2}, "e": [],
        "o": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "u": "ä€"});
    for (source, value) in cases {
        assert_eq!(evaluate(source, &input), Ok(value.clone()), "{source}");
    }
}

#[test]
fn evaluates_operators_and_literals() {
    check(&[
        ("1 + 2 * 3 - 4 / 2 % 3", json!(5)),
        ("-self.n == -3 && !(self.n > 3)", json!(true)),
        ("'a' + \"b\" + r'\\d' + '''c'd'''", json!("ab\\dc'd")),
        ("0x10 == 16 && 1.5e1 == 15.0 && 3u == 3u", json!(true)),
        ("self.n < 3.5 && 2 < 3u", json!(true)),
        ("self.missing || true", json!(true)),
        ("false && self.missing", json!(false)),
        ("self.n > 2 ? 'big' : 'small'", json!("big")),
        ("[1, 2] + [3]", json!([1, 2, 3])),
        ("{'a': 1}['a'] + self.m.b", json!(3)),
        ("2 in self.l && 'a' in self.m && !('z' in self.m)", json!(true)),
        ("has(self.n) && !has(self.zz)", json!(true)),
        ("size(self.u) == 2 && self.l.size() == 3", json!(true)),
        ("type(self.n) == int && type(self.s) == string && type(null) == null_type", json!(true)),
        ("b'\\xff\\x00'.size()", json!(2)),
        ("'\\u00e4\\n'", json!("ä\n")),
        ("self.m == {'b': 2, 'a': 1} && self.l != [1, 2, 3]", json!(true)),
        ("1 == 1 // a remark", json!(true)),
    ]);
}

#[test]
fn evaluates_macros() {
    check(&[
        ("self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 1)", json!(true)),
        ("self.l.map(x, x * 2)", json!([6, 2, 4])),
        ("self.l.map(x, x > 1, x * 2)", json!([6, 4])),
        ("self.l.filter(x, x != 1)", json!([3, 2])),
        ("self.m.all(k, self.m[k] < 3)", json!(true)),
        ("self.l.exists(x, x / 0 == 1 || x == 2)", json!(true)),
        ("self.l.all(i, v, i < 3 && v > 0)", json!(true)),
        ("self.l.transformList(i, v, v - i)", json!([3, 0, 0])),
        ("self.m.transformMap(k, v, v + 1)", json!({"a": 2, "b": 3})),
        ("self.m.transformMapEntry(k, v, {k + 'x': v})", json!({"ax": 1, "bx": 2})),
        ("self.o.sortBy(x, -x.v).map(x, x.k)", json!(["y", "x"])),
        ("self.?zz.optMap(x, x + 1).orValue(9) + self.?n.optMap(x, x + 1).orValue(9)", json!(13)),
        ("self.l.map(x, self.l.map(y, x + y).sum()).sum()", json!(36)),
    ]);
}

#[test]
fn evaluates_library_functions() {
    check(&[
        ("self.s.lowerAscii() + self.s.upperAscii() + ' x '.trim()", json!("helloHELLOx")),
        ("self.s.indexOf('l') + self.s.lastIndexOf('l') * 10 + self.s.indexOf('z')", json!(31)),
        ("self.s.replace('l', 'L', 1) + self.s.substring(1, 3) + self.s.charAt(4)", json!("HeLloelo")),
        ("'a,b,c'.split(',', 2)", json!(["a", "b,c"])),
        ("['a', 'b'].join('-') + 'abc'.split('').join()", json!("a-babc")),
        ("self.s.matches('^H.*o$') && matches(self.s, 'ell')", json!(true)),
        ("'a1b22'.findAll('[0-9]+') + ['a1'.find('[0-9]')]", json!(["1", "22", "1"])),
        ("self.l.sum() + self.l.max() - self.l.min() + self.l.indexOf(2)", json!(10)),
        ("self.l.isSorted() || [1, 2].isSorted()", json!(true)),
        ("'%s is %d, %.2f, %x'.format([self.s, 7, 1.5, 255])", json!("Hello is 7, 1.50, ff")),
        ("quantity('1.5Gi').add(quantity('0.5Gi')) == quantity('2Gi') && isQuantity('5k')", json!(true)),
        (
            "url('https://a.b:80/c?d=e&d=f').getHostname() + url('https://a:80/c?d=e').getPort()",
            json!("a.b80"),
        ),
        ("ip('::1').isLoopback() && ip('10.0.0.1').family() == 4 && !isIP('1.2.3')", json!(true)),
        (
            "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8'",
            json!(true),
        ),
        ("semver('1.10.0').isGreaterThan(semver('1.9.9')) && isSemver('v1.2', true)", json!(true)),
        ("format.dns1123Label().validate('A').hasValue() && !format.named('zz').hasValue()", json!(true)),
        (
            "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 3]) && sets.equivalent([1, 1], [1])",
            json!(true),
        ),
        ("optional.of(1).or(optional.of(2)).value() + optional.none().orValue(5)", json!(6)),
        ("[1, ?optional.none(), ?optional.of(2)]", json!([1, 2])),
        ("timestamp('2024-02-29T01:02:03.5Z').getDayOfYear() + duration('90m').getHours()", json!(60)),
        ("string(timestamp('2024-01-01T00:00:00Z') + duration('1h30m'))", json!("2024-01-01T01:30:00Z")),
        ("int('12') + int(3.9) + int(timestamp('1970-01-01T00:00:05Z'))", json!(20)),
        ("double('1.5') == 1.5 && string(5.0) == '5' && bool('true') && uint(3) == 3u", json!(true)),
        (
            "[[1, 2], [3]].flatten().reverse().slice(0, 2) + lists.range(2) + [2, 1, 1].distinct().sort()",
            json!([3, 2, 0, 1, 1, 2]),
        ),
        ("string(duration('1.5s')) + string(true)", json!("1.5strue")),
    ]);
}

#[test]
fn reports_run_time_errors_like_cel_go() {
    for (source, text) in [
        ("1 / (self.n - 3)", "division by zero"),
        ("1 % (self.n - 3)", "modulus by zero"),
        ("self.l[7]", "index out of bounds: 7"),
        ("self.zz == 1", "no such key: zz"),
        ("self.m['zz']", "no such key: zz"),
        ("9223372036854775807 + self.n", "integer overflow"),
        ("self.s < 5", "no such overload"),
        ("self.n.startsWith('a')", "no such overload: startsWith(int, string)"),
        (
            "sign(quantity('zz'))",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("optional.none().value()", "optional.none() dereference"),
        (
            "[1].map(x, [1].map(y, self.l.map(z, self.l))).size() > 0 && lists.range(100000).all(x, lists.range(100).all(y, true))",
            "operation cancelled: actual cost limit exceeded",
        ),
    ] {
        let input = json!({"n": 3, "s": "a", "l": [1], "m": {}});
        assert_eq!(evaluate(source, &input), Err(text.to_owned()), "{source}");
    }
}

#[test]
fn values_without_members_have_no_fields_and_no_elements() {
    check(&[
        ("has(dyn(null).a) || has(dyn(1).a) || has(dyn('s').a)", json!(false)),
        ("dyn(null).?a.orValue(2) + dyn(1)[?0].orValue(3)", json!(5)),
        ("[1, 2][dyn(1.0)]", json!(2)),
    ]);
    for (source, text) in [
        ("dyn(null).a == 1", "no such key: a"),
        ("dyn(1)[0] == 1", "no such key: 0"),
        ("has(dyn([1]).a)", "unsupported index type 'string' in list"),
        ("dyn([1]).a == 1", "unsupported index type 'string' in list"),
    ] {
        assert_eq!(evaluate(source, &json!({})), Err(text.to_owned()), "{source}");
    }
}

#[test]
fn format_writes_nested_values_as_literals_and_numbers_in_english() {
    check(&[
        ("'%s'.format([[1, 'a', null, 1.5]])", json!("[1, \"a\", null, 1.500000]")),
        ("'%s'.format([{'b': 1, 'a': [b'x']}])", json!("{\"a\":[b\"x\"], \"b\":1}")),
        ("'%s'.format([[duration('1s')]])", json!("[duration(\"1s\")]")),
        ("'%s %f'.format([1e8, 1234567.5])", json!("1e+08 1,234,567.500000")),
        ("'%e'.format([12345.678])", json!("1.234568×10⁰⁴")),
    ]);
}

#[test]
fn reports_compile_errors_with_their_position() {
    for (source, text) in [
        (
            "1 == 'a'",
            "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | 1 == 'a'\n | ..^",
        ),
        ("nope", "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^"),
        (
            "'a'.nofunc()",
            "ERROR: <input>:1:11: undeclared reference to 'nofunc' (in container '')\n | 'a'.nofunc()\n | ..........^",
        ),
        (
            "1.startsWith('a')",
            "ERROR: <input>:1:13: found no matching overload for 'startsWith' applied to 'int.(string)'\n | 1.startsWith('a')\n | ............^",
        ),
        (
            "'a'.all(x, true)",
            "ERROR: <input>:1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)\n | 'a'.all(x, true)\n | ^",
        ),
        (
            "[1].all(x, x)",
            "ERROR: <input>:1:12: expected type 'bool' but found 'int'\n | [1].all(x, x)\n | ...........^",
        ),
        (
            "1 + 2 && true",
            "ERROR: <input>:1:3: expected type 'bool' but found 'int'\n | 1 + 2 && true\n | ..^",
        ),
        ("'a'.b", "ERROR: <input>:1:4: type 'string' does not support field selection\n | 'a'.b\n | ...^"),
        ("[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"),
        (
            "true &&",
            "ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | true &&\n | .......^",
        ),
        (
            "'a'.matches('(')",
            "ERROR: <input>:1:13: invalid matches argument\n | 'a'.matches('(')\n | ............^",
        ),
    ] {
        assert_eq!(
            Program::compile(source, &environment(36)).map(|_| ()),
            Err(CompileError::Expression(text.to_owned())),
            "{source}"
        );
    }
}

/// The tokens that may begin an operand, in two parts.
const OPERANDS: [&str; 2] = [
    "'[', '{', '(', ",
    "'.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER",
];

#[test]
fn syntax_errors_have_the_text_of_the_real_server() {
    let [brackets, others] = OPERANDS;
    let operand = format!("expecting {{{brackets}{others}}}");
    let argument = format!("expecting {{{brackets}')', {others}}}");
    let index = format!("expecting {{{brackets}{}}}", others.replace("'!', ", "'!', '?', "));
    for (source, column, text) in [
        ("self.", 6, "no viable alternative at input '.'"),
        ("self.true == 1", 6, "mismatched input 'true' expecting IDENTIFIER"),
        ("self.(", 6, "no viable alternative at input '.('"),
        ("self. + 1", 7, "no viable alternative at input '. +'"),
        ("self..a", 6, "no viable alternative at input '..'"),
        (".", 2, "no viable alternative at input '.'"),
        (".true", 2, "mismatched input 'true' expecting IDENTIFIER"),
        ("(self", 6, "missing ')' at '<EOF>'"),
        ("self(", 6, format!("mismatched input '<EOF>' {argument}").as_str()),
        ("self.a(1", 9, "missing ')' at '<EOF>'"),
        ("self[", 6, format!("mismatched input '<EOF>' {index}").as_str()),
        ("self[1", 7, "missing ']' at '<EOF>'"),
        ("[1", 3, "mismatched input '<EOF>' expecting {']', ','}"),
        ("[1,", 4, "missing ']' at '<EOF>'"),
        ("{1", 3, "mismatched input '<EOF>' expecting ':'"),
        ("{1:2", 5, "mismatched input '<EOF>' expecting {'}', ','}"),
        ("self ? 1", 9, "mismatched input '<EOF>' expecting ':'"),
        ("self == )", 9, format!("mismatched input ')' {operand}").as_str()),
        ("self )", 6, "extraneous input ')' expecting <EOF>"),
        ("self.1a", 5, "mismatched input '.1' expecting <EOF>"),
        ("a.b{c", 6, "mismatched input '<EOF>' expecting ':'"),
        ("a.b{1", 5, "mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"),
        ("&& 1", 1, format!("extraneous input '&&' {operand}").as_str()),
        ("a + * b", 5, format!("extraneous input '*' {operand}").as_str()),
        ("((", 3, format!("mismatched input '<EOF>' {operand}").as_str()),
    ] {
        let place = format!("\n | {source}\n | {}^", ".".repeat(column - 1));
        let wanted = format!("ERROR: <input>:1:{column}: Syntax error: {text}{place}");
        assert_eq!(
            Program::compile(source, &environment(36)).map(|_| ()),
            Err(CompileError::Expression(wanted)),
            "{source}"
        );
    }
}

#[test]
fn functions_are_available_from_their_minor_on() {
    for (source, since) in [
        ("self.matches('a')", 0),
        ("sign(quantity('1')) == 1", 28),
        ("1 < 1.5", 28),
        ("sets.contains([1], [1])", 29),
        ("isIP('1.1.1.1')", 27),
        ("format.dns1123Label().validate('a').hasValue()", 30),
        ("[1].all(i, v, true)", 32),
        ("isSemver('1.1.1')", 33),
        ("[1].sort() == [1]", 34),
    ] {
        for minor in [since, 36] {
            Program::compile(source, &environment(minor)).unwrap();
        }
        assert!(since == 0 || Program::compile(source, &environment(since - 1)).is_err(), "{source}");
    }
}

#[test]
fn malformed_expressions_never_panic() {
    for source in [
        "",
        "(",
        "''''",
        "\"",
        "a.b.",
        "[[[[",
        "a ? b",
        "1 in",
        "{1:",
        "has()",
        "a.map(1, 2)",
        "-",
        "\\",
        "'\\u12'",
        "0x",
        "9223372036854775808",
        "-9223372036854775808 < 0",
        "a[",
        "`x",
        "é",
    ] {
        let _ = Program::compile(source, &environment(36));
    }
    let deep = "(".repeat(10_000);
    assert!(Program::compile(&deep, &environment(36)).is_err());
    assert_eq!(Value::Null.size(), None);
    assert_eq!(EvalError::Cost.text(), "operation cancelled: actual cost limit exceeded");
}

/// Fragments of random expressions.
const WORDS: [&str; 44] = [
    "self",
    "x",
    "y",
    "1",
    "-",
    "2.5",
    "3u",
    "'a'",
    "b'z'",
    "true",
    "null",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ".?",
    "[?",
    ",",
    "?",
    ":",
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    "!",
    "+",
    "*",
    "/",
    "%",
    " in ",
    ".all(x, ",
    ".map(x, ",
    ".filter(x, ",
    "has(",
    ".size()",
    "type(",
    "duration('1h')",
    ".matches('a+')",
    "optional.of(",
];

proptest! {
    #[test]
    fn random_expressions_neither_panic_nor_cost_more_than_their_limit(
        words in prop::collection::vec(0..WORDS.len(), 1..24)
    ) {
        let source: String = words.iter().map(|index| WORDS[*index]).collect();
        let input = json!({"n": 3, "l": [1, "a", null, {"k": [2]}], "m": {"a": 1.5}});
        if let Ok(program) = Program::compile(&source, &environment(36)) {
            let evaluated = program.run(&[json::from_json(&input, None)], 1000);
            prop_assert!(evaluated.outcome.is_err() || evaluated.cost <= 1000);
        }
    }

    #[test]
    fn random_text_never_panics(source in "\\PC{0,40}") {
        let _ = Program::compile(&source, &environment(36));
    }
}

#[test]
fn calls_with_constants_that_fail_are_errors_of_the_program() {
    for (source, text) in [
        ("'a'.find('[')", "error parsing regexp: missing closing ]: `[`"),
        ("'a'.findAll('(', 1)", "error parsing regexp: missing closing ): `(`"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
    ] {
        let found = Program::compile(source, &environment(36)).map(drop);
        assert_eq!(found, Err(CompileError::Constants(text.to_owned())), "{source}");
    }
}

#[test]
fn literals_are_checked_once_the_types_are_right() {
    let error = |source: &str| Program::compile(source, &environment(36)).unwrap_err().to_string();
    assert!(!error("'a'.matches('[') + 1").contains("invalid matches argument"));
    assert!(error("'a'.matches('[') || true").contains("invalid matches argument"));
    assert!(error("jsonpatch.escapeKey('a') == 'a'").contains("undeclared reference to 'jsonpatch'"));
    let keys = "found no matching overload for '@sortByAssociatedKeys' applied to 'list(list(int)).(list(list(int)))'";
    assert!(error("[[1], [2]].sortBy(x, x) == []").contains(keys));
}

#[test]
fn times_stay_within_the_years_1_to_9999_and_the_first_is_zero() {
    let evaluate = |source: &str| evaluate(source, &json!({}));
    let overflow =
        evaluate("timestamp('0001-01-01T00:00:00Z') - duration('1ns') == timestamp('0001-01-01T00:00:00Z')");
    assert_eq!(overflow, Err("timestamp overflow".to_owned()));
    let zero = "optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()";
    assert_eq!(evaluate(zero), Ok(json!(false)));
    assert_eq!(evaluate("dyn([1, 2]).flatten() == [1, 2]"), Ok(json!(true)));
    assert_eq!(evaluate("url('https://a/b?x=1#f').getQuery()['x']"), Ok(json!(["1"])));
}
