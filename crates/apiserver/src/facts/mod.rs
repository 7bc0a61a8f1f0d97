//! The fields of the built-in types: JSON names, protobuf numbers, types, and the way in which patches merge
//! them.
//!
//! The tables are the text files in the folder `facts`. Its `generate.py` documents the format of a line, and
//! generates the tables from the OpenAPI definitions of a Kubernetes release. They hold the kinds of all
//! groups that are at v1 (and autoscaling/v2). `documents.v1.txt` is written by hand: types of answers that OpenAPI does not
//! describe.

pub(crate) mod go;
mod since;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use self::go::Zero;

macro_rules! tables {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!($name, ".txt")))),*]
    };
}

/// The tables of fields, by group and version.
const TABLES: [(&str, &str); 24] = tables! {
    "admissionregistration.v1"
    "apiextensions.v1"
    "apiregistration.v1"
    "apps.v1"
    "authentication.v1"
    "authorization.v1"
    "autoscaling.v1"
    "autoscaling.v2"
    "batch.v1"
    "certificates.v1"
    "coordination.v1"
    "core.v1"
    "discovery.v1"
    "documents.v1"
    "events.v1"
    "flowcontrol.v1"
    "meta.v1"
    "networking.v1"
    "node.v1"
    "policy.v1"
    "rbac.v1"
    "resource.v1"
    "scheduling.v1"
    "storage.v1"
};

/// Identifies a type, for [`Types::get`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(usize);

/// A struct of the API.
#[derive(Debug)]
pub(crate) struct Type {
    /// The first word of the API group: `apps`, `core`, `rbac`.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// The name of the Go type.
    pub(crate) name: &'static str,
    /// Whether it is a kind of the API, with `apiVersion` and `kind`.
    pub(crate) is_kind: bool,
    /// Whether server-side apply replaces it as a whole (`x-kubernetes-map-type: atomic`).
    pub(crate) atomic: bool,
    /// Fields in the order of the source. A field named `-` embeds a struct, whose fields belong to this
    /// type.
    pub(crate) fields: Vec<Field>,
    /// Index of each field in `fields`; for a field of an embedded struct, the index of the embedding field.
    by_name: BTreeMap<&'static str, usize>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Its protobuf number; 0 if it is never sent.
    pub(crate) number: u32,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
    /// Whether the OpenAPI document gives the zero of the type as default, although the field is optional.
    pub(crate) zero_default: bool,
    /// The first minor that has it; 0 if it is as old as the type.
    pub(crate) since: u32,
    /// How Go encodes its zero value.
    pub(crate) zero: Zero,
    pub(crate) apply: ApplyMerge,
    pub(crate) patch: PatchMerge,
    /// `retainKeys`: a strategic merge patch may list the fields of the object that stay.
    pub(crate) retain_keys: bool,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// A single value.
    Scalar(Scalar),
    Struct(TypeId),
    /// A list of the inner kind.
    List(Box<FieldKind>),
    /// A map from strings to the inner kind.
    Map(Box<FieldKind>),
}

/// Types that are a single value in JSON, regardless of their form on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 in JSON.
    Bytes,
    Quantity,
    IntOrString,
    /// RFC 3339 with seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// `metav1.Duration`, in the text form of Go.
    Duration,
    /// Any object (`RawExtension`, `FieldsV1`).
    Object,
    /// Any value.
    Json,
    /// `JSONSchemaPropsOrBool`.
    SchemaOrBool,
    /// `JSONSchemaPropsOrArray`.
    SchemaOrArray,
    /// `JSONSchemaPropsOrStringArray`.
    SchemaOrStrings,
}

/// How server-side apply merges a list or a map (`x-kubernetes-list-type`, `x-kubernetes-map-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApplyMerge {
    /// Structs and maps field by field, lists as a whole.
    Default,
    /// As a whole.
    Atomic,
    /// Field by field, although the type of the field is merged as a whole elsewhere.
    Granular,
    /// A list of distinct scalars.
    Set,
    /// A list of objects, identified by these keys.
    Map(Vec<&'static str>),
}

/// How a strategic merge patch merges a field (`x-kubernetes-patch-strategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchMerge {
    /// Objects field by field, lists as a whole.
    Default,
    /// As a whole, including objects.
    Replace,
    /// A list of scalars that the patch extends.
    Merge,
    /// A list of objects, identified by this key.
    MergeBy(&'static str),
}

/// All types of the tables.
#[derive(Debug)]
pub(crate) struct Types {
    types: Vec<Type>,
    by_name: BTreeMap<(&'static str, &'static str, &'static str), TypeId>,
}

/// The types of the built-in kinds.
pub(crate) fn types() -> &'static Types {
    static TYPES: LazyLock<Types> = LazyLock::new(|| {
        let files = TABLES.iter().filter_map(|(name, text)| {
            let (group, version) = name.split_once('.')?;
            Some((group, version, *text))
        });
        Types::parse(&files.collect::<Vec<_>>())
    });
    &TYPES
}

impl Types {
    /// Finds a type by API group, version and name. `core` also names the core group.
    pub(crate) fn find(&self, group: &str, version: &str, name: &str) -> Option<TypeId> {
        let group = if group.is_empty() { "core" } else { group.split('.').next().unwrap_or(group) };
        self.by_name.get(&(group, version, name)).copied()
    }

    /// The ids of all types.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.types.len()).map(TypeId)
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// All kinds: the first word of their group, their version and their type.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, TypeId)> {
        let all = self.types.iter().enumerate();
        all.filter(|(_, kind)| kind.is_kind).map(|(at, kind)| (kind.group, kind.version, TypeId(at)))
    }

    /// Finds a field by its JSON name, including fields of embedded structs.
    pub(crate) fn field(&self, id: TypeId, name: &str) -> Option<&Field> {
        let owner = self.get(id);
        let field = &owner.fields[*owner.by_name.get(name)?];
        match &field.kind {
            FieldKind::Struct(lender) if field.name == EMBEDDED => self.field(*lender, name),
            _ => Some(field),
        }
    }

    /// All fields as JSON has them, with those of an embedded struct in its place.
    pub(crate) fn fields(&self, id: TypeId) -> Vec<&Field> {
        let own_fields = self.get(id).fields.iter();
        own_fields
            .flat_map(|field| match &field.kind {
                FieldKind::Struct(lender) if field.name == EMBEDDED => self.fields(*lender),
                _ => vec![field],
            })
            .collect()
    }

    fn parse(files: &[(&'static str, &'static str, &'static str)]) -> Self {
        let mut types = Self { types: Vec::new(), by_name: BTreeMap::new() };
        for (group, version, text) in files {
            for line in text.lines().filter(|line| !line.starts_with(' ')) {
                let mut words = line.split(' ');
                let name = words.next().unwrap_or_default();
                let special: Vec<&str> = words.collect();
                let (is_kind, atomic) = (special.contains(&"kind"), special.contains(&"atomic"));
                types.by_name.insert((group, version, name), TypeId(types.types.len()));
                let fields = Vec::new();
                types.types.push(Type {
                    group,
                    version,
                    name,
                    is_kind,
                    atomic,
                    fields,
                    by_name: BTreeMap::new(),
                });
            }
        }
        for (group, version, text) in files {
            let mut current = 0;
            for line in text.lines() {
                if let Some(field) = line.strip_prefix("  ") {
                    let owner = types.types[current].name;
                    let field = types.read_field((*group, *version, owner), field);
                    types.types[current].fields.push(field);
                } else {
                    let name = line.split(' ').next().unwrap_or_default();
                    current = types.by_name[&(*group, *version, name)].0;
                }
            }
        }
        for index in 0..types.types.len() {
            types.types[index].by_name = types.names(TypeId(index));
        }
        types
    }

    fn names(&self, id: TypeId) -> BTreeMap<&'static str, usize> {
        let mut names = BTreeMap::new();
        for (index, field) in self.get(id).fields.iter().enumerate() {
            match &field.kind {
                FieldKind::Struct(lender) if field.name == EMBEDDED => {
                    names.extend(self.names(*lender).into_keys().map(|name| (name, index)));
                }
                _ => {
                    names.insert(field.name, index);
                }
            }
        }
        names
    }

    /// Reads a field of a type, which has a group, a version and a name.
    fn read_field(
        &self,
        (group, version, owner): (&'static str, &'static str, &str),
        line: &'static str,
    ) -> Field {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (name, number, kind) = (next(), next(), next());
        let mut field = Field {
            name,
            number: number.parse().unwrap_or_default(),
            kind: self.read_kind(group, version, kind),
            required: false,
            zero_default: false,
            since: since::minor((group, version, owner), name),
            zero: Zero::Never,
            apply: ApplyMerge::Default,
            patch: PatchMerge::Default,
            retain_keys: false,
        };
        for word in words {
            let (word, inside) = word.trim_end_matches(')').split_once('(').unwrap_or((word, ""));
            match word {
                "required" => field.required = true,
                "default" => field.zero_default = true,
                "granular" => field.apply = ApplyMerge::Granular,
                "atomic" => field.apply = ApplyMerge::Atomic,
                "set" => field.apply = ApplyMerge::Set,
                "map" => field.apply = ApplyMerge::Map(inside.split(',').collect()),
                "merge" if inside.is_empty() => field.patch = PatchMerge::Merge,
                "merge" => field.patch = PatchMerge::MergeBy(inside),
                "replace" => field.patch = PatchMerge::Replace,
                "retainKeys" => field.retain_keys = true,
                _ => {}
            }
        }
        field.zero = go::zero((group, version, owner), &field);
        field
    }

    fn read_kind(&self, group: &'static str, version: &'static str, text: &'static str) -> FieldKind {
        if let Some(inside) = text.strip_prefix("[]") {
            return FieldKind::List(Box::new(self.read_kind(group, version, inside)));
        }
        if let Some(inside) = text.strip_prefix("map[string]") {
            return FieldKind::Map(Box::new(self.read_kind(group, version, inside)));
        }
        let mut parts = text.splitn(3, '.');
        let key = match (parts.next(), parts.next(), parts.next()) {
            (Some(group), Some(version), Some(name)) => (group, version, name),
            _ => (group, version, text),
        };
        match self.by_name.get(&key) {
            Some(id) => FieldKind::Struct(*id),
            None => FieldKind::Scalar(scalar(text)),
        }
    }
}

/// Whether a group belongs to Kubernetes itself.
pub(crate) fn is_builtin(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// The name of a field that embeds a struct.
pub(crate) const EMBEDDED: &str = "-";

fn scalar(text: &str) -> Scalar {
    match text {
        "bool" => Scalar::Bool,
        "int32" => Scalar::Int32,
        "int64" => Scalar::Int64,
        "double" => Scalar::Double,
        "bytes" => Scalar::Bytes,
        "quantity" => Scalar::Quantity,
        "int-or-string" => Scalar::IntOrString,
        "time" => Scalar::Time,
        "micro-time" => Scalar::MicroTime,
        "duration" => Scalar::Duration,
        "object" => Scalar::Object,
        "json" => Scalar::Json,
        "schema-or-bool" => Scalar::SchemaOrBool,
        "schema-or-array" => Scalar::SchemaOrArray,
        "schema-or-strings" => Scalar::SchemaOrStrings,
        // Only `string` is left: a test checks all tables.
        _ => Scalar::String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(group: &str, version: &str, name: &str, field: &str) -> &'static Field {
        let id = types().find(group, version, name).unwrap();
        types().field(id, field).unwrap()
    }

    #[test]
    fn fields_have_their_number_type_and_merge_keys() {
        let containers = field("", "v1", "PodSpec", "containers");
        let container = types().find("", "v1", "Container").unwrap();
        assert_eq!(containers.number, 2);
        assert_eq!(containers.kind, FieldKind::List(Box::new(FieldKind::Struct(container))));
        assert_eq!(containers.apply, ApplyMerge::Map(vec!["name"]));
        assert_eq!(containers.patch, PatchMerge::MergeBy("name"));
        assert!(containers.required);
        let taints = field("", "v1", "NodeSpec", "taints");
        assert_eq!((&taints.apply, taints.patch), (&ApplyMerge::Atomic, PatchMerge::Default));
        assert_eq!(field("meta", "v1", "ObjectMeta", "finalizers").apply, ApplyMerge::Set);
        let replicas = field("autoscaling", "v1", "ScaleSpec", "replicas");
        assert_eq!(replicas.kind, FieldKind::Scalar(Scalar::Int32));
    }

    #[test]
    fn fields_of_an_embedded_struct_belong_to_the_outer_type() {
        assert_eq!(field("", "v1", "SecretKeySelector", "name").number, 1);
        assert_eq!(field("", "v1", "Volume", "configMap").number, 19);
        let id = types().find("", "v1", "SecretKeySelector").unwrap();
        let names: Vec<_> = types().fields(id).iter().map(|field| field.name).collect();
        assert_eq!(names, ["name", "key", "optional"]);
    }

    #[test]
    fn every_type_in_the_tables_is_known() {
        const SCALARS: [&str; 17] = [
            "string",
            "bool",
            "int32",
            "int64",
            "double",
            "bytes",
            "quantity",
            "int-or-string",
            "time",
            "micro-time",
            "duration",
            "object",
            "json",
            "schema-or-bool",
            "schema-or-array",
            "schema-or-strings",
            "",
        ];
        for (name, text) in TABLES {
            for line in text.lines().filter_map(|line| line.strip_prefix("  ")) {
                let kind = line.split(' ').nth(2).unwrap().trim_start_matches("[]");
                let kind = kind.trim_start_matches("map[string]").trim_start_matches("[]");
                let is_type =
                    kind.rsplit('.').next().is_some_and(|name| name.starts_with(char::is_uppercase));
                let (group, version) = name.split_once('.').unwrap();
                let known = match kind.splitn(3, '.').collect::<Vec<_>>()[..] {
                    [name] => types().find(group, version, name),
                    [group, version, name] => types().find(group, version, name),
                    _ => None,
                };
                assert!(is_type && known.is_some() || SCALARS.contains(&kind), "{name}: {line}");
            }
        }
    }
}
