//! Named formats, which report what is wrong with a text.

use crate::cel::escape::from_base64;
use crate::cel::library::{Row, text};
use crate::cel::time;
use crate::cel::value::opaque::Opaque;
use crate::cel::value::{EvalError, Outcome, Value};
use crate::gotext::url::Url;
use crate::names;

/// First minor whose functions OpenShift's API servers let new rules of 1.31 use, because an update applies
/// definitions of 4.19 before its kube-apiserver (openshift/api#2109). Upstream API servers have them from 1.31
/// on, for new rules from 1.32 on.
const OPENSHIFT: u32 = 30;

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (OPENSHIFT, "kubernetes.NamedFormat: validate(string) -> optional(list(string))", validate),
    (OPENSHIFT, "format.named(string) -> optional(kubernetes.NamedFormat)", named),
    (OPENSHIFT, "format.dns1123Label() -> kubernetes.NamedFormat", dns1123_label),
    (OPENSHIFT, "format.dns1123Subdomain() -> kubernetes.NamedFormat", dns1123_subdomain),
    (OPENSHIFT, "format.dns1035Label() -> kubernetes.NamedFormat", dns1035_label),
    (OPENSHIFT, "format.qualifiedName() -> kubernetes.NamedFormat", qualified_name),
    (OPENSHIFT, "format.dns1123LabelPrefix() -> kubernetes.NamedFormat", dns1123_label_prefix),
    (OPENSHIFT, "format.dns1123SubdomainPrefix() -> kubernetes.NamedFormat", dns1123_subdomain_prefix),
    (OPENSHIFT, "format.dns1035LabelPrefix() -> kubernetes.NamedFormat", dns1035_label_prefix),
    (OPENSHIFT, "format.labelValue() -> kubernetes.NamedFormat", label_value),
    (OPENSHIFT, "format.uri() -> kubernetes.NamedFormat", uri),
    (OPENSHIFT, "format.uuid() -> kubernetes.NamedFormat", uuid),
    (OPENSHIFT, "format.byte() -> kubernetes.NamedFormat", byte),
    (OPENSHIFT, "format.date() -> kubernetes.NamedFormat", date),
    (OPENSHIFT, "format.datetime() -> kubernetes.NamedFormat", datetime),
];

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

fn format_value<'a>(name: &'static str) -> Outcome<'a> {
    Ok(Value::opaque(Opaque::Format(name)))
}

fn named<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match NAMES.iter().find(|name| **name == text(args, 0)) {
        Some(name) => format_value(name).map(Value::some),
        None => Ok(Value::Optional(None)),
    }
}

fn validate<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let Some(Value::Opaque(opaque)) = args.first() else { return Err(EvalError::no_overload()) };
    let Opaque::Format(name) = &**opaque else { return Err(EvalError::no_overload()) };
    let wrong = check(name, text(args, 1));
    if wrong.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(wrong.into_iter().map(Value::text).collect())))
}

fn check(name: &str, text: &str) -> Vec<String> {
    // A prefix may end in a dash, because the rest of the name is generated.
    let prefix = text.strip_suffix('-').map_or_else(|| text.to_owned(), |text| format!("{text}a"));
    let unless = |fits: bool, why: &str| if fits { Vec::new() } else { vec![why.to_owned()] };
    match name {
        "dns1123Label" => names::NameRule::Label.check(text),
        "dns1123Subdomain" => names::subdomain(text),
        "dns1035Label" => names::dns1035_label(text),
        "qualifiedName" => names::labels::label_key(text),
        "dns1123LabelPrefix" => names::NameRule::Label.check(&prefix),
        "dns1123SubdomainPrefix" => names::subdomain(&prefix),
        "dns1035LabelPrefix" => names::dns1035_label(&prefix),
        "labelValue" => names::labels::label_value(text),
        "uri" => Url::parse(text).err().into_iter().collect(),
        "uuid" => unless(is_uuid(text), "does not match the UUID format"),
        "byte" => unless(from_base64(text).is_some(), "invalid base64"),
        "date" => unless(time::parse_date(text).is_some(), "invalid date"),
        _ => unless(time::parse_timestamp(text).is_some(), "invalid datetime"),
    }
}

fn is_uuid(text: &str) -> bool {
    let hex = text.replace('-', "");
    hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

macro_rules! formats {
    ($($function:ident $name:literal),*) => {
        $(fn $function<'a>(_: &[Value<'a>]) -> Outcome<'a> {
            format_value($name)
        })*
    };
}

formats!(
    dns1123_label "dns1123Label",
    dns1123_subdomain "dns1123Subdomain",
    dns1035_label "dns1035Label",
    qualified_name "qualifiedName",
    dns1123_label_prefix "dns1123LabelPrefix",
    dns1123_subdomain_prefix "dns1123SubdomainPrefix",
    dns1035_label_prefix "dns1035LabelPrefix",
    label_value "labelValue",
    uri "uri",
    uuid "uuid",
    byte "byte",
    date "date",
    datetime "datetime"
);
