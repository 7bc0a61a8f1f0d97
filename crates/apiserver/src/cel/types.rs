//! Types of CEL expressions.

use std::fmt;
use std::sync::Arc;

use super::decl::{Decl, Shape};

#[derive(Debug, Clone)]
#[expect(clippy::enum_variant_names, reason = "the type of a type is a type")]
pub(crate) enum Type {
    /// Any type; checked at run time.
    Dyn,
    /// Any type, like `Dyn`, but no range of a macro (`google.protobuf.Any`).
    Any,
    /// The type of an expression that was already rejected.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// The type of a type.
    Type(Option<Arc<Type>>),
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    /// An object with a schema.
    Object(Arc<Decl>),
    /// A library type, including `optional_type`.
    Opaque(&'static str, Vec<Type>),
    /// A type parameter, whose type is inferred.
    Param(u32),
}

/// The type name of optional values.
pub(crate) const OPTIONAL: &str = "optional_type";
/// The type name of quantities.
pub(crate) const QUANTITY: &str = "kubernetes.Quantity";

impl Decl {
    /// The type of expressions with this declaration.
    pub(crate) fn as_type(self: &Arc<Self>) -> Type {
        match &self.shape {
            Shape::IntOrString => Type::Dyn,
            Shape::Any => Type::Any,
            Shape::Quantity => Type::Opaque(QUANTITY, Vec::new()),
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List { items, .. } => Type::list(items.as_type()),
            Shape::Map { values, .. } => Type::map(Type::String, values.as_type()),
            Shape::Object(_) => Type::Object(Arc::clone(self)),
        }
    }
}

impl Type {
    pub(crate) fn list(items: Self) -> Self {
        Self::List(Arc::new(items))
    }

    pub(crate) fn map(keys: Self, values: Self) -> Self {
        Self::Map(Arc::new(keys), Arc::new(values))
    }

    pub(crate) fn optional(inner: Self) -> Self {
        Self::Opaque(OPTIONAL, vec![inner])
    }

    /// The type inside an optional, and whether this is an optional.
    pub(crate) fn unwrap_optional(&self) -> (Self, bool) {
        match self {
            Self::Opaque(OPTIONAL, params) => (params.first().cloned().unwrap_or(Self::Dyn), true),
            other => (other.clone(), false),
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// The type parameters of this type.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(items) => vec![items],
            Self::Map(keys, values) => vec![keys, values],
            Self::Type(Some(inner)) => vec![inner],
            Self::Opaque(_, params) => params.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The type with `change` applied to its type parameters.
    pub(crate) fn rebuilt(&self, mut change: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::List(items) => Self::list(change(items)),
            Self::Map(keys, values) => {
                let keys = change(keys);
                Self::map(keys, change(values))
            }
            Self::Type(Some(inner)) => Self::Type(Some(Arc::new(change(inner)))),
            Self::Opaque(name, params) => Self::Opaque(name, params.iter().map(change).collect()),
            other => other.clone(),
        }
    }

    /// Whether two types are the same apart from their type parameters.
    pub(crate) fn same_head(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.name == b.name,
            (Self::Opaque(a, p), Self::Opaque(b, q)) => a == b && p.len() == q.len(),
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether two types are the same, including their type parameters.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.parameters(), other.parameters());
        self.same_head(other) && mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(a, b)| a.same(b))
    }

    /// The name of the type without its type parameters (`TypeName`).
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn | Self::Param(_) => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "!error!",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Object(decl) => &decl.name,
            Self::Opaque(name, _) => name,
        }
    }

    /// The name of the type with its type parameters (`String`).
    pub(crate) fn full_name(&self) -> String {
        let parameters: Vec<String> = self.parameters().into_iter().map(Self::full_name).collect();
        if parameters.is_empty() {
            self.name().to_owned()
        } else {
            format!("{}({})", self.name(), parameters.join(", "))
        }
    }

    /// Whether values of the type have a fixed size (`isScalar`).
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Opaque(OPTIONAL, params) => params.first().is_some_and(Self::is_scalar),
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    /// Formats the type for error messages (`FormatCelType`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn => "dyn",
            Self::Any => "any",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Object(decl) => &decl.name,
            Self::Opaque(name, _) => name,
            Self::Param(number) => return write!(f, "_var{number}"),
        };
        f.write_str(name)?;
        let parameters = self.parameters();
        if parameters.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        write!(f, "({})", texts.join(", "))
    }
}
