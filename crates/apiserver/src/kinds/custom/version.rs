//! A version of a custom resource, parsed once per replacement of its definition.

use std::sync::OnceLock;

use serde_json::Value;

use super::{PrinterColumn, ScalePaths};
use crate::discovery;
use crate::field_set::FieldSet;
use crate::schema::rules::Rules;
use crate::schema::{Structural, default, prune};

/// A version of a custom resource.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) schema: Structural,
    rules: OnceLock<Rules>,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// The fields that the status subresource resets for their owners (`GetResetFields`). It does not write others either.
    pub(crate) status_reset: FieldSet,
    /// The paths that the scale subresource uses, if there is one.
    pub(crate) scale: Option<ScalePaths>,
    /// Paths for field selectors, such as `spec.color`.
    pub(crate) selectable: Vec<String>,
    /// The columns in Tables.
    pub(crate) columns: Vec<PrinterColumn>,
    /// The warning for each request, if the version is deprecated.
    pub(crate) warning: Option<String>,
}

/// The warning about a deprecated version without one of its own. It names the preferred version among those that are not
/// deprecated, and that are preferred to the deprecated one (`defaultDeprecationWarning`).
fn deprecation(name: &str, all: &[Value], group: &str, kind: &str) -> String {
    let is_current = |version: &&Value| version["served"] == true && version["deprecated"] != true;
    let current = all.iter().filter(is_current).filter_map(|version| version["name"].as_str());
    let mut names: Vec<String> = current.chain([name]).map(str::to_owned).collect();
    names = discovery::sorted_versions(names);
    let mut warning = format!("{group}/{name} {kind} is deprecated");
    if let Some(preferred) = names.first().filter(|preferred| *preferred != name) {
        warning.push_str(&format!("; use {group}/{preferred} {kind}"));
    }
    warning
}

impl Version {
    /// Reads one of the versions of a definition.
    pub(crate) fn read(version: &Value, all: &[Value], group: &str, kind: &str) -> Self {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        let schema = Structural::read(&version["schema"]["openAPIV3Schema"]);
        let selectable = version["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
        let path =
            |field: &Value| field["jsonPath"].as_str().map(|path| path.trim_start_matches('.').to_owned());
        let deprecated = version["deprecated"] == true;
        let warning = deprecated.then(|| {
            let own = version["deprecationWarning"].as_str();
            own.map_or_else(|| deprecation(&name, all, group, kind), str::to_owned)
        });
        Self {
            served: version["served"] == true,
            storage: version["storage"] == true,
            status_reset: FieldSet::of_names(&[&["metadata"], &["spec"]]),
            schema,
            rules: OnceLock::new(),
            status: version["subresources"]["status"].is_object(),
            scale: ScalePaths::read(&version["subresources"]["scale"]),
            selectable: selectable.iter().filter_map(path).collect(),
            columns: PrinterColumn::read_all(version, group, kind),
            warning,
            name,
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| Rules::compile(&self.schema))
    }

    /// Reads a stored object as this version, which must be the storage version: prunes it and fills in
    /// defaults.
    pub(crate) fn read_stored(&self, stored: &Value, group: &str) -> Value {
        let mut object = self.convert(stored, group);
        self.complete(&mut object);
        object
    }

    /// Converts an object to this version without a webhook (conversion strategy `None`): removes fields that
    /// this version lacks, and adds no defaults.
    pub(crate) fn convert(&self, object: &Value, group: &str) -> Value {
        let mut object = self.renamed(object, group);
        prune::prune(&mut object, &self.schema);
        object
    }

    /// A copy of the object with this version's `apiVersion`.
    pub(super) fn renamed(&self, object: &Value, group: &str) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = Value::String(format!("{group}/{}", self.name));
        object
    }

    /// Fills in the defaults of an object that was converted to this version to be stored, as every read of it does.
    pub(crate) fn complete(&self, object: &mut Value) {
        default::fill(object, &self.schema);
        default::drop_nulls(object, &self.schema);
    }
}
