//! An object of a watch: its metadata, and everything else as JSON.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject};
use kube::core::DynamicResourceScope;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An object of any kind. `DynamicObject` holds the same, but its deserialization copies everything
/// (`serde(flatten)`), and objects of watches are most of the controller's input.
#[derive(Debug, Clone)]
pub(in crate::controller) struct Watched {
    /// `metadata`.
    pub(in crate::controller) metadata: ObjectMeta,
    /// All fields except `metadata`, `apiVersion` and `kind`.
    pub(in crate::controller) data: Value,
}

impl From<DynamicObject> for Watched {
    fn from(object: DynamicObject) -> Self {
        Self { metadata: object.metadata, data: object.data }
    }
}

impl<'de> Deserialize<'de> for Watched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Watched;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of the API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Watched, A::Error> {
        let (mut metadata, mut data) = (ObjectMeta::default(), Map::new());
        while let Some(field) = fields.next_key::<Cow<'de, str>>()? {
            match &*field {
                "metadata" => metadata = fields.next_value()?,
                "apiVersion" | "kind" => drop(fields.next_value::<IgnoredAny>()?),
                _ => drop(data.insert(field.into_owned(), fields.next_value()?)),
            }
        }
        Ok(Watched { metadata, data: Value::Object(data) })
    }
}

impl kube::Resource for Watched {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn splits_an_object_into_metadata_and_data() {
        let text = r#"{"kind":"A","apiVersion":"b/v1","metadata":{"name":"c"},"spec":{"d":[1]},"e":null}"#;
        let object: Watched = serde_json::from_str(text).unwrap();
        assert_eq!(object.metadata.name.as_deref(), Some("c"));
        assert_eq!(object.data, json!({ "spec": { "d": [1] }, "e": null }));
        let whole: DynamicObject = serde_json::from_str(text).unwrap();
        assert_eq!(Watched::from(whole).data, object.data);
    }

    #[test]
    fn rejects_a_value_that_is_no_object() {
        let error = serde_json::from_str::<Watched>("[]").unwrap_err().to_string();
        assert!(error.contains("expected an object of the API"), "{error}");
    }
}
