//! The form of objects that a client requests: whole, only their metadata, or as Tables.

use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::Query;
use crate::request::accept::Shape;

/// The requested form of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct View {
    pub(crate) shape: Shape,
    pub(crate) include: Include,
    /// The Kubernetes minor, on which the columns of Tables depend.
    pub(crate) minor: u32,
}

impl View {
    /// The view with the option of Tables: `includeObject`. It is read once the request succeeded.
    pub(crate) fn with_options(self, query: &Query) -> Outcome<Self> {
        let include = match self.shape {
            Shape::Table(_) => {
                Include::read(query.get("includeObject")).map_err(BoxedRejection::bad_request)?
            }
            _ => Include::default(),
        };
        Ok(Self { include, ..self })
    }

    /// Whether the view shows ages, so that it changes with time.
    pub(crate) fn shows_ages(self) -> bool {
        matches!(self.shape, Shape::Table(_))
    }
}

/// The content of `object` in each row (`includeObject`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Include {
    None,
    /// The metadata of the object.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

impl Include {
    /// Parses `includeObject`.
    ///
    /// # Errors
    /// The server's message for an invalid value.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                 'Object', 'None', or empty",
                quote(other)
            )),
        }
    }
}
