//! Schemas of an OpenAPI v3 document.

use std::collections::BTreeMap;

use serde_json::Value;

/// The schemas of all kinds by their names.
#[derive(Debug, Default)]
pub struct Schemas {
    named: BTreeMap<String, Value>,
    roots: BTreeMap<(String, String), String>,
}

impl Schemas {
    pub(super) fn add(&mut self, document: &Value) {
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            for kind in schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
                let text = |field: &str| kind[field].as_str().unwrap_or_default();
                let version = format!("{}/{}", text("group"), text("version"));
                let root = (version.trim_start_matches('/').to_owned(), text("kind").to_owned());
                self.roots.insert(root, name.clone());
            }
            self.named.insert(name.clone(), schema.clone());
        }
    }

    pub(super) fn root(&self, api_version: &str, kind: &str) -> Shape<'_> {
        let name = self.roots.get(&(api_version.to_owned(), kind.to_owned()));
        let schema = name.and_then(|name| self.named.get(name)).unwrap_or(&Value::Null);
        Shape { schemas: self, schema }
    }
}

/// One schema, with references followed.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    schemas: &'a Schemas,
    schema: &'a Value,
}

impl<'a> Shape<'a> {
    fn follow(self, schema: &'a Value) -> Self {
        let schema = schema["allOf"].get(0).unwrap_or(schema);
        let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/components/schemas/"));
        let schema = name.and_then(|name| self.schemas.named.get(name)).unwrap_or(schema);
        Self { schemas: self.schemas, schema }
    }

    /// The properties.
    pub fn properties(self) -> impl Iterator<Item = (&'a String, Shape<'a>)> {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties.map(move |(name, schema)| (name, self.follow(schema)))
    }

    /// The schema of a member: a property, a value of a map, or an element of a list.
    #[must_use]
    pub fn member(self, name: &str) -> Shape<'a> {
        let places =
            [&self.schema["properties"][name], &self.schema["additionalProperties"], &self.schema["items"]];
        self.follow(places.into_iter().find(|place| place.is_object()).unwrap_or(&Value::Null))
    }

    /// The type: `string`, `integer`, `quantity`, `int-or-string` and so on.
    pub fn kind(self) -> &'a str {
        match (self.schema["type"].as_str(), self.schema["format"].as_str()) {
            (Some(kind), _) => kind,
            (None, Some(format)) => format,
            (None, None) if self.schema["oneOf"].is_array() => "quantity",
            (None, None) => "",
        }
    }

    /// The format, such as `date-time`, `byte` or `int32`.
    pub fn format(self) -> &'a str {
        self.schema["format"].as_str().unwrap_or_default()
    }

    /// Whether this is a map of values by name.
    pub fn is_map(self) -> bool {
        self.schema["additionalProperties"].is_object()
    }

    /// The allowed values.
    pub fn allowed(self) -> Vec<&'a Value> {
        self.schema["enum"].as_array().into_iter().flatten().collect()
    }

    /// Whether a property must be set.
    pub fn requires(self, name: &str) -> bool {
        self.schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    }
}
