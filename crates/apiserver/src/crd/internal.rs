//! Definitions in the server's internal form, in which parts that all versions share are beside the versions.
//! Error messages show paths and values in this form (`conversion to the internal version`).

use serde_json::{Value, json};

/// The parts of a version that move to the definition if all versions have the same.
const SHARED: [&str; 4] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

/// The versions of a definition, and the parts that they share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Internal<'a> {
    pub(crate) versions: &'a [Value],
    shared: [bool; SHARED.len()],
}

impl<'a> Internal<'a> {
    pub(crate) fn new(versions: &'a [Value]) -> Self {
        let same = |part: &str| versions.windows(2).all(|pair| pair[0][part] == pair[1][part]);
        Self { versions, shared: SHARED.map(|part| !versions.is_empty() && same(part)) }
    }

    fn is_shared(&self, part: &str) -> bool {
        SHARED.iter().zip(self.shared).any(|(name, shared)| *name == part && shared)
    }

    /// A part of each version with its path; if the versions share it, the part with its path in the
    /// definition.
    pub(crate) fn parts(&self, part: &str) -> Vec<(&'a Value, String)> {
        let own =
            |(index, version): (usize, &'a Value)| (&version[part], format!("spec.versions[{index}].{part}"));
        let found: Vec<(&Value, String)> = if self.is_shared(part) {
            let name = if part == "schema" { "validation" } else { part };
            self.versions
                .first()
                .map(|version| (&version[part], format!("spec.{name}")))
                .into_iter()
                .collect()
        } else {
            self.versions.iter().enumerate().map(own).collect()
        };
        found.into_iter().filter(|(value, _)| !value.is_null()).collect()
    }

    /// The versions as Go encodes them.
    pub(crate) fn text(&self) -> String {
        array(self.versions, |version| {
            let part = |name: &str, encode: &dyn Fn(&Value) -> String| {
                if self.is_shared(name) || version[name].is_null() {
                    "null".to_owned()
                } else {
                    encode(&version[name])
                }
            };
            object(&[
                ("Name", plain(&version["name"], &json!(""))),
                ("Served", plain(&version["served"], &json!(false))),
                ("Storage", plain(&version["storage"], &json!(false))),
                ("Deprecated", plain(&version["deprecated"], &json!(false))),
                ("DeprecationWarning", plain(&version["deprecationWarning"], &Value::Null)),
                (
                    "Schema",
                    part("schema", &|value| {
                        object(&[("OpenAPIV3Schema", schema(&value["openAPIV3Schema"]))])
                    }),
                ),
                ("Subresources", part("subresources", &subresources)),
                ("AdditionalPrinterColumns", part("additionalPrinterColumns", &|value| columns(value))),
                (
                    "SelectableFields",
                    part("selectableFields", &|value| {
                        items(value, |field| object(&[("JSONPath", plain(&field["jsonPath"], &json!("")))]))
                    }),
                ),
            ])
        })
    }
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn array(values: &[Value], encode: impl Fn(&Value) -> String) -> String {
    let values: Vec<String> = values.iter().map(encode).collect();
    format!("[{}]", values.join(","))
}

fn items(value: &Value, encode: impl Fn(&Value) -> String) -> String {
    value.as_array().map_or_else(|| "null".to_owned(), |list| array(list, encode))
}

fn plain(value: &Value, zero: &Value) -> String {
    if value.is_null() { zero.to_string() } else { value.to_string() }
}

fn subresources(value: &Value) -> String {
    let scale = &value["scale"];
    let scale = if scale.is_null() {
        "null".to_owned()
    } else {
        object(&[
            ("SpecReplicasPath", plain(&scale["specReplicasPath"], &json!(""))),
            ("StatusReplicasPath", plain(&scale["statusReplicasPath"], &json!(""))),
            ("LabelSelectorPath", plain(&scale["labelSelectorPath"], &Value::Null)),
        ])
    };
    object(&[("Status", value["status"].to_string()), ("Scale", scale)])
}

fn columns(value: &Value) -> String {
    items(value, |column| {
        object(&[
            ("Name", plain(&column["name"], &json!(""))),
            ("Type", plain(&column["type"], &json!(""))),
            ("Format", plain(&column["format"], &json!(""))),
            ("Description", plain(&column["description"], &json!(""))),
            ("Priority", plain(&column["priority"], &json!(0))),
            ("JSONPath", plain(&column["jsonPath"], &json!(""))),
        ])
    })
}

/// The encoding of a keyword.
#[derive(Debug, Clone, Copy)]
enum Form {
    Text,
    Flag,
    /// A value or null.
    Any,
    Schema,
    Schemas,
    /// A map by name.
    Named,
    SchemaOrBool,
    SchemaOrList,
    Rules,
}

/// The fields of `JSONSchemaProps` in order: the Go name, the JSON name and the encoding.
const KEYWORDS: [(&str, &str, Form); 43] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Any),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Any),
    ("Maximum", "maximum", Form::Any),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Any),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Any),
    ("MinLength", "minLength", Form::Any),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Any),
    ("MinItems", "minItems", Form::Any),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Any),
    ("Enum", "enum", Form::Any),
    ("MaxProperties", "maxProperties", Form::Any),
    ("MinProperties", "minProperties", Form::Any),
    ("Required", "required", Form::Any),
    ("Items", "items", Form::SchemaOrList),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::Named),
    ("AdditionalProperties", "additionalProperties", Form::SchemaOrBool),
    ("PatternProperties", "patternProperties", Form::Named),
    ("Dependencies", "dependencies", Form::Any),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::Named),
    ("ExternalDocs", "externalDocs", Form::Any),
    ("Example", "example", Form::Any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Any),
    ("XListType", "x-kubernetes-list-type", Form::Any),
    ("XMapType", "x-kubernetes-map-type", Form::Any),
];

/// A schema as Go encodes it.
pub(crate) fn schema(value: &Value) -> String {
    if !value.is_object() {
        return "null".to_owned();
    }
    let mut fields: Vec<(&str, String)> =
        KEYWORDS.iter().map(|(name, keyword, form)| (*name, form.encode(&value[*keyword]))).collect();
    fields.push(("XValidations", Form::Rules.encode(&value["x-kubernetes-validations"])));
    object(&fields)
}

/// A rule of `x-kubernetes-validations` as Go encodes it.
pub(crate) fn rule(value: &Value) -> String {
    object(&[
        ("Rule", plain(&value["rule"], &json!(""))),
        ("Message", plain(&value["message"], &json!(""))),
        ("MessageExpression", plain(&value["messageExpression"], &json!(""))),
        ("Reason", plain(&value["reason"], &Value::Null)),
        ("FieldPath", plain(&value["fieldPath"], &json!(""))),
        ("OptionalOldSelf", plain(&value["optionalOldSelf"], &Value::Null)),
    ])
}

impl Form {
    fn encode(self, value: &Value) -> String {
        match self {
            Self::Text => plain(value, &json!("")),
            Self::Flag => plain(value, &json!(false)),
            Self::Any => value.to_string(),
            Self::Schema => schema(value),
            Self::Schemas => items(value, schema),
            Self::Rules => items(value, rule),
            Self::Named => match value.as_object() {
                None => "null".to_owned(),
                Some(map) => {
                    let fields: Vec<String> = map
                        .iter()
                        .map(|(name, inner)| format!("{}:{}", json!(name), schema(inner)))
                        .collect();
                    format!("{{{}}}", fields.join(","))
                }
            },
            Self::SchemaOrBool => match value {
                Value::Bool(allows) => {
                    object(&[("Allows", allows.to_string()), ("Schema", "null".to_owned())])
                }
                Value::Object(_) => object(&[("Allows", "true".to_owned()), ("Schema", schema(value))]),
                _ => "null".to_owned(),
            },
            Self::SchemaOrList => match value {
                Value::Object(_) => object(&[("Schema", schema(value)), ("JSONSchemas", "null".to_owned())]),
                Value::Array(list) => {
                    object(&[("Schema", "null".to_owned()), ("JSONSchemas", array(list, schema))])
                }
                _ => "null".to_owned(),
            },
        }
    }
}
