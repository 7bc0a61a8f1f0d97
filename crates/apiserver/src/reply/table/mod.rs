//! Tables: objects as rows and columns, for kubectl to print (`meta.k8s.io` Table).
//!
//! Built-in kinds have printers of their own (`pkg/printers/internalversion`), in a file for each family of
//! kinds, with the columns in `columns.txt`. Kinds without a printer show name and creation time. Custom
//! resources show the `additionalPrinterColumns` of their definition.

mod access;
mod ages;
mod columns;
mod custom;
mod devices;
mod nodes;
mod pods;
mod row;
mod services;
mod storage;
mod workloads;

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use crate::kinds::Kind;
use crate::kinds::custom::PrinterColumn;
use crate::kinds::strategy::TEMPLATE_GENERATION;
use crate::kinds::typed::go_order::GoOrder;
use crate::reply::lazy_object::LazyObject;
use crate::request::view::Include;
use crate::store::Stored;
use row::{Cells, Row};

/// A Table, whose objects are shared with the store.
#[derive(Debug, Clone)]
pub struct Table {
    api_version: &'static str,
    metadata: Value,
    /// `None` in all events of a watch except the first.
    columns: Option<Value>,
    rows: Vec<TableRow>,
    include: Include,
}

#[derive(Debug, Clone)]
struct TableRow {
    cells: Cells,
    conditions: Option<Value>,
    object: LazyObject,
}

/// Creates the cells of a row.
type MakeCells = fn(&Row<'_>) -> Cells;

/// Creates the Tables of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    kind: &'a Kind,
    /// The x of Kubernetes 1.x, on which columns depend.
    minor: u32,
    method: PrintMethod<'a>,
}

#[derive(Clone, Copy)]
enum PrintMethod<'a> {
    Builtin(&'static columns::Columns, MakeCells),
    Custom(&'a [PrinterColumn]),
    /// Shows a Scale.
    Scale,
    /// Shows the creation time (`rest.NewDefaultTableConvertor`).
    Created,
    /// Shows the age: the printer of kinds that have no other.
    Aged,
}

/// Printers of built-in kinds by plural and group.
const BUILTIN: &[(&str, MakeCells)] = &[
    ("pods", pods::pod),
    ("podtemplates", pods::pod_template),
    ("replicationcontrollers", workloads::replication_controller),
    ("replicasets.apps", workloads::replica_set),
    ("deployments.apps", workloads::deployment),
    ("statefulsets.apps", workloads::stateful_set),
    ("daemonsets.apps", workloads::daemon_set),
    ("controllerrevisions.apps", workloads::controller_revision),
    ("jobs.batch", workloads::job),
    ("cronjobs.batch", workloads::cron_job),
    ("horizontalpodautoscalers.autoscaling", workloads::autoscaler),
    ("poddisruptionbudgets.policy", workloads::disruption_budget),
    ("nodes", nodes::node),
    ("namespaces", nodes::namespace),
    ("projects.project.openshift.io", nodes::project),
    ("nodes.metrics.k8s.io", nodes::node_metrics),
    ("pods.metrics.k8s.io", nodes::pod_metrics),
    ("events", nodes::event),
    ("events.events.k8s.io", nodes::event),
    ("leases.coordination.k8s.io", nodes::lease),
    ("services", services::service),
    ("endpoints", services::endpoints),
    ("endpointslices.discovery.k8s.io", services::endpoint_slice),
    ("ingresses.networking.k8s.io", services::ingress),
    ("ingressclasses.networking.k8s.io", services::ingress_class),
    ("networkpolicies.networking.k8s.io", services::network_policy),
    ("ipaddresses.networking.k8s.io", services::ip_address),
    ("servicecidrs.networking.k8s.io", services::service_cidr),
    ("persistentvolumes", storage::volume),
    ("persistentvolumeclaims", storage::volume_claim),
    ("storageclasses.storage.k8s.io", storage::storage_class),
    ("volumeattachments.storage.k8s.io", storage::attachment),
    ("csinodes.storage.k8s.io", storage::csi_node),
    ("csidrivers.storage.k8s.io", storage::csi_driver),
    ("volumeattributesclasses.storage.k8s.io", storage::attributes_class),
    ("resourceclaims.resource.k8s.io", devices::claim),
    ("resourceslices.resource.k8s.io", devices::slice),
    ("configmaps", access::config_map),
    ("secrets", access::secret),
    ("serviceaccounts", access::service_account),
    ("resourcequotas", access::resource_quota),
    ("rolebindings.rbac.authorization.k8s.io", access::binding),
    ("clusterrolebindings.rbac.authorization.k8s.io", access::binding),
    ("certificatesigningrequests.certificates.k8s.io", access::certificate_request),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", access::webhook_configuration),
    ("mutatingwebhookconfigurations.admissionregistration.k8s.io", access::webhook_configuration),
    ("validatingadmissionpolicies.admissionregistration.k8s.io", access::admission_policy),
    ("validatingadmissionpolicybindings.admissionregistration.k8s.io", access::admission_policy_binding),
    ("apiservices.apiregistration.k8s.io", access::api_service),
    ("priorityclasses.scheduling.k8s.io", access::priority_class),
    ("runtimeclasses.node.k8s.io", access::runtime_class),
    ("flowschemas.flowcontrol.apiserver.k8s.io", access::flow_schema),
    ("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", access::priority_level),
];

/// Kinds that show their creation time instead of their age.
const CREATED: [&str; 5] = [
    "roles.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "limitranges",
    "csistoragecapacities.storage.k8s.io",
];

impl<'a> Printer<'a> {
    /// The printer of a kind in Kubernetes 1.`minor`.
    pub(crate) fn for_kind(kind: &'a Kind, minor: u32) -> Self {
        let resource = crate::rejection::qualified(&kind.resource);
        let builtin = BUILTIN.iter().find(|(name, _)| *name == resource);
        let method = match (&kind.custom, builtin) {
            (Some(custom), _) => PrintMethod::Custom(&custom.version.columns),
            (None, Some((_, cells))) => columns::find(&resource)
                .map_or(PrintMethod::Aged, |columns| PrintMethod::Builtin(columns, *cells)),
            (None, None) if CREATED.contains(&resource.as_str()) => PrintMethod::Created,
            (None, None) => PrintMethod::Aged,
        };
        Self { kind, minor, method }
    }

    /// The printer of an object of a kind, or of its Scale.
    pub(crate) fn for_object(kind: &'a Kind, object: &Value, minor: u32) -> Self {
        let printer = Self::for_kind(kind, minor);
        let is_scale = object["kind"] == "Scale" && object["apiVersion"] == "autoscaling/v1";
        if is_scale { Self { method: PrintMethod::Scale, ..printer } } else { printer }
    }

    /// Creates a Table of objects at `now`. `metadata` is that of the list or of the single object.
    pub(crate) fn table(
        &self,
        api_version: &'static str,
        metadata: &Value,
        objects: impl IntoIterator<Item = LazyObject>,
        include: Include,
        now: Time,
    ) -> Table {
        let fields = metadata.as_object().into_iter().flatten();
        let fields = fields.filter(|(key, value)| {
            matches!(key.as_str(), "resourceVersion" | "continue" | "remainingItemCount") && **value != ""
        });
        Table {
            api_version,
            metadata: Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect()),
            columns: Some(self.columns()),
            rows: objects.into_iter().map(|object| self.row(object, now)).collect(),
            include,
        }
    }

    fn row(&self, object: LazyObject, now: Time) -> TableRow {
        let tree = object.load();
        // Printers of built-in kinds read the form that all versions share.
        let printed = self.kind.printed_form(&tree);
        let row = Row { object: &printed, now, minor: self.minor };
        // A subresource may return another kind, such as Scale.
        let other = tree["kind"].as_str().is_some_and(|kind| kind != self.kind.resource.kind);
        let cells = match self.method {
            PrintMethod::Scale => {
                let [desired, available] = ["/spec/replicas", "/status/replicas"].map(|path| row.int(path));
                vec![row.name(), json!(desired), json!(available), row.age()]
            }
            _ if other => vec![row.name(), created(&row)],
            PrintMethod::Builtin(columns, cells) => columns.shown(cells(&row), self.minor),
            PrintMethod::Custom(columns) => custom::cells(columns, &row),
            PrintMethod::Created => vec![row.name(), created(&row)],
            PrintMethod::Aged => vec![row.name(), row.age()],
        };
        let conditions = if self.kind.is_resource("", "pods") { pods::conditions(&tree) } else { None };
        TableRow { cells, conditions, object }
    }

    fn columns(&self) -> Value {
        match self.method {
            PrintMethod::Builtin(columns, _) => columns.definitions(self.minor),
            PrintMethod::Custom(columns) => custom::definitions(columns),
            PrintMethod::Scale => columns::scale(self.kind.custom.is_some()),
            PrintMethod::Created => json!([columns::name(), columns::created("Created At", "date")]),
            PrintMethod::Aged => json!([columns::name(), columns::created("Age", "string")]),
        }
    }
}

fn created(row: &Row<'_>) -> Value {
    row.get("/metadata/creationTimestamp").cloned().unwrap_or(Value::Null)
}

impl Table {
    /// The Table without columns, as in all events of a watch except the first.
    pub(crate) fn without_columns(self) -> Self {
        Self { columns: None, ..self }
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("kind", "Table")?;
        map.serialize_entry("apiVersion", self.api_version)?;
        map.serialize_entry("metadata", &GoOrder::meta("ListMeta", &self.metadata))?;
        let columns = self.columns.as_ref().and_then(Value::as_array);
        let column = |column| GoOrder::document("TableColumnDefinition", column);
        let columns: Option<Vec<_>> = columns.map(|columns| columns.iter().map(column).collect());
        map.serialize_entry("columnDefinitions", &columns)?;
        let rows: Vec<_> = self.rows.iter().map(|row| ShownRow { row, table: self }).collect();
        map.serialize_entry("rows", &rows)?;
        map.end()
    }
}

struct ShownRow<'a> {
    row: &'a TableRow,
    table: &'a Table,
}

impl Serialize for ShownRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cells", &self.row.cells)?;
        if let Some(conditions) = &self.row.conditions {
            let conditions = conditions.as_array().into_iter().flatten();
            let conditions = conditions.map(|condition| GoOrder::document("TableRowCondition", condition));
            map.serialize_entry("conditions", &conditions.collect::<Vec<_>>())?;
        }
        let object = || self.row.object.load();
        match self.table.include {
            Include::None => map.serialize_entry("object", &Value::Null)?,
            Include::Object => map.serialize_entry("object", &object())?,
            Include::Metadata => {
                map.serialize_entry("object", &Partial(&object(), self.table.api_version))?;
            }
        }
        map.end()
    }
}

/// The object without the annotation that represents a field of a DaemonSet's internal form, which has no such annotation.
pub(crate) fn without_encoded_fields(object: &Stored) -> Cow<'_, Stored> {
    if object["metadata"]["annotations"].get(TEMPLATE_GENERATION).is_none() {
        return Cow::Borrowed(object);
    }
    let mut next = (**object).clone();
    if let Some(metadata) = next["metadata"].as_object_mut()
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    Cow::Owned(object.with(next))
}

/// The metadata of an object (`PartialObjectMetadata`), in this version of `meta.k8s.io`.
pub(crate) struct Partial<'a>(pub(crate) &'a Stored, pub(crate) &'static str);

impl Serialize for Partial<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("kind", crate::request::accept::PARTIAL)?;
        map.serialize_entry("apiVersion", self.1)?;
        map.serialize_entry("metadata", &without_encoded_fields(self.0).metadata())?;
        map.end()
    }
}
