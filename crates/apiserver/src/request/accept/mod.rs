//! Content negotiation: the media type of an answer and the shape of its objects
//! (`k8s.io/apiserver/pkg/endpoints/handlers/negotiation`).
//!
//! A client that accepts protobuf gets JSON. This works because clients read the content type of the answer.

mod header;

use header::{Clause, clauses};

use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{Query, Request};

pub(crate) const PARTIAL: &str = "PartialObjectMetadata";
pub(crate) const PARTIAL_LIST: &str = "PartialObjectMetadataList";
const META: &str = "meta.k8s.io";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The served media types. A wildcard selects the first that fits.
const SERVED: [Served; 3] = [
    Served { name: JSON, media: Media::Json, streams: true, tables: true },
    Served { name: YAML, media: Media::Yaml, streams: false, tables: true },
    Served { name: PROTOBUF, media: Media::Json, streams: true, tables: false },
];
/// The media types of documents and objects.
pub(crate) const DOCUMENTS: [&str; 3] = [JSON, YAML, PROTOBUF];
/// The media types of lists, which can be watched.
pub(crate) const LISTS: [&str; 5] = [JSON, YAML, PROTOBUF, JSON_STREAM, PROTOBUF_STREAM];
/// The media types of watches.
const STREAMS: [&str; 2] = [JSON_STREAM, PROTOBUF_STREAM];
const JSON_STREAM: &str = "application/json;stream=watch";
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// A media type that the server writes.
#[derive(Debug, Clone, Copy)]
struct Served {
    name: &'static str,
    media: Media,
    /// Whether watches have it.
    streams: bool,
    /// Whether Tables have it.
    tables: bool,
}

/// The format of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Media {
    /// `application/json`.
    #[default]
    Json,
    /// `application/json`, indented.
    PrettyJson,
    /// `application/yaml`.
    Yaml,
}

/// Versions of the group `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

/// The part of an object that a client wants, and its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Shape {
    /// The whole object.
    #[default]
    Whole,
    /// The metadata of the object.
    Metadata(MetaVersion),
    /// The metadata of the objects of a list.
    MetadataList(MetaVersion),
    /// A table.
    Table(MetaVersion),
}

/// The objects of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// Objects of built-in kinds.
    BuiltIn,
    /// Custom resources, which have no protobuf form.
    Custom,
    /// Answers that are not stored, which have no table.
    Answers,
    /// Documents and errors, which have one shape (`DefaultEndpointRestrictions`).
    Documents,
}

impl MetaVersion {
    /// The `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// Chooses the first clause of an `Accept` header, by preference, that an endpoint with these objects can answer.
///
/// # Errors
/// 406 if there is none.
pub(crate) fn negotiate(header: &str, objects: Objects) -> Outcome<(Media, Shape)> {
    if header.is_empty() {
        return Ok((Media::Json, Shape::Whole));
    }
    chosen(header, |clause, served| objects.shape(clause, served))
        .map(|(clause, served, shape)| {
            let pretty = served.media == Media::Json && clause.parameter("pretty") == "1";
            (if pretty { Media::PrettyJson } else { served.media }, shape)
        })
        .ok_or_else(|| not_accepted(&DOCUMENTS))
}

/// The first clause, by preference, and the first media type of it for which `choose` has a value.
fn chosen<T>(
    header: &str,
    choose: impl Fn(&Clause<'_>, Served) -> Option<T>,
) -> Option<(Clause<'_>, Served, T)> {
    clauses(header).into_iter().find_map(|clause| {
        let mut covered = SERVED.into_iter().filter(|served| clause.covers(served.name));
        let (served, value) = covered.find_map(|served| Some((served, choose(&clause, served)?)))?;
        Some((clause, served, value))
    })
}

/// Checks an `Accept` header against the media types of a route, as the router does before the endpoint negotiates.
///
/// # Errors
/// 406 if the header names none of them.
pub(crate) fn check_routed(header: &str, produced: &[&str]) -> Outcome<()> {
    if header.is_empty() || header::is_routed(header, produced) {
        Ok(())
    } else {
        Err(BoxedRejection::not_acceptable(&produced.join(", ")))
    }
}

/// The 406 error of a watch whose client prefers a format without streams.
pub(crate) fn no_stream() -> BoxedRejection {
    not_accepted(&STREAMS)
}

fn not_accepted(types: &[&str]) -> BoxedRejection {
    BoxedRejection::unsupported_shape(format!(
        "only the following media types are accepted: {}",
        types.join(", ")
    ))
}

/// The format of a document or of an error. An error that cannot have the requested format is JSON.
pub(crate) fn document_media(request: &Request<'_>) -> Outcome<Media> {
    let (media, _) = negotiate(&request.accept, Objects::Documents)?;
    let pretty = media == Media::Json && is_pretty(&request.query, &request.user_agent);
    Ok(if pretty { Media::PrettyJson } else { media })
}

impl Objects {
    /// The shape that a clause selects; `None` if an endpoint with these objects does not support it in that media type.
    fn shape(self, clause: &Clause<'_>, served: Served) -> Option<Shape> {
        let has_stream = match clause.parameter("stream") {
            "" => true,
            stream => stream == "watch" && served.streams,
        };
        let has_version = match clause.parameter("sv") {
            "" => true,
            version => version == "v1" && self != Self::Documents,
        };
        let shape = requested_shape(clause).filter(|_| has_stream && has_version)?;
        let is_supported = match shape {
            Shape::Whole => self != Self::Custom || served.name != PROTOBUF,
            Shape::Table(_) => !matches!(self, Self::Answers | Self::Documents) && served.tables,
            Shape::Metadata(_) | Shape::MetadataList(_) => self != Self::Documents,
        };
        is_supported.then_some(shape)
    }
}

/// The shape that the parameters `as`, `g` and `v` select; `None` if no endpoint has it.
fn requested_shape(clause: &Clause<'_>) -> Option<Shape> {
    let (kind, group, version) = (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"));
    if kind.is_empty() && group.is_empty() && version.is_empty() {
        return Some(Shape::Whole);
    }
    let version = match (group, version) {
        (META, "v1") => MetaVersion::V1,
        (META, "v1beta1") => MetaVersion::V1Beta1,
        _ => return None,
    };
    match kind {
        PARTIAL => Some(Shape::Metadata(version)),
        PARTIAL_LIST => Some(Shape::MetadataList(version)),
        "Table" => Some(Shape::Table(version)),
        _ => None,
    }
}

/// Whether to indent JSON: if the query asks for it, or if the client is interactive (curl, Wget or a browser).
pub(crate) fn is_pretty(query: &Query, user_agent: &str) -> bool {
    match query.get("pretty") {
        "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| user_agent.starts_with(name)),
        asked => matches!(asked, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
}

/// The format and the version of a kind of the group `apidiscovery.k8s.io`, if the client accepts that kind.
pub(crate) fn discovery_version<'a>(
    header: &str,
    kind: &str,
    served_versions: &[&'a str],
) -> Option<(Media, &'a str)> {
    let (_, served, version) = chosen(header, |clause, served| {
        let is_streamable = match clause.parameter("stream") {
            "" => true,
            stream => stream == "watch" && served.streams,
        };
        let version = served_versions.iter().copied().find(|version| *version == clause.parameter("v"));
        let is_kind = clause.parameter("g") == "apidiscovery.k8s.io" && clause.parameter("as") == kind;
        version.filter(|_| is_kind && is_streamable)
    })?;
    Some((served.media, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, chosen: Result<(Media, Shape), u16>) {
        let found = negotiate(header, Objects::BuiltIn).map_err(|rejection| rejection.code);
        assert_eq!(found, chosen, "{header}");
    }

    #[test]
    fn negotiate_chooses_preferred_clause() {
        let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let table = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
        let metadata = Shape::Metadata(MetaVersion::V1);
        check("", Ok((Media::Json, Shape::Whole)));
        check("*/*", Ok((Media::Json, Shape::Whole)));
        check(partial, Ok((Media::Json, metadata)));
        check(&format!("text/html, {partial},application/json"), Ok((Media::Json, metadata)));
        check(&format!("{table},application/json"), Ok((Media::Json, Shape::Table(MetaVersion::V1Beta1))));
        check("application/json;q=0.5,application/yaml", Ok((Media::Yaml, Shape::Whole)));
        check("*/*,application/yaml", Ok((Media::Yaml, Shape::Whole)));
        check("application/json;pretty=1", Ok((Media::PrettyJson, Shape::Whole)));
        check("application/vnd.kubernetes.protobuf", Ok((Media::Json, Shape::Whole)));
        check(
            "application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/json",
            Ok((Media::Json, Shape::Whole)),
        );
        check("application/yaml;stream=watch,application/json;stream=watch", Ok((Media::Json, Shape::Whole)));
    }

    #[test]
    fn negotiate_rejects_unsupported_types() {
        check("image/png, text/html", Err(406));
        check("application/json;as=Nonsense;v=v1;g=meta.k8s.io", Err(406));
        check("application/yaml;stream=watch", Err(406));
        check("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", Err(406));
        let is_rejected = |header: &str, objects| negotiate(header, objects).is_err();
        assert!(is_rejected(PROTOBUF, Objects::Custom));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert!(is_rejected(table, Objects::Answers));
        assert!(!is_rejected(&format!("{table},application/json"), Objects::Answers));
        assert!(is_rejected(
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Objects::Documents
        ));
    }

    #[test]
    fn the_router_knows_media_types_without_their_parameters() {
        let rejection = check_routed("image/png, application/*", &DOCUMENTS).unwrap_err();
        let types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        assert_eq!(rejection.message, format!("406: Not Acceptable\n\nAvailable representations: {types}"));
        assert_eq!(check_routed("image/png, application/yaml;q=0", &DOCUMENTS), Ok(()));
    }

    #[test]
    fn discovery_is_aggregated_for_clients_that_accept_it() {
        let version = |header| discovery_version(header, "List", &["v2"]);
        let wanted = "application/yaml;g=apidiscovery.k8s.io;v=v2;as=List";
        assert_eq!(version(wanted), Some((Media::Yaml, "v2")));
        assert_eq!(version("application/json;g=apidiscovery.k8s.io;v=v1;as=List"), None);
        assert_eq!(version("application/json"), None);
    }

    #[test]
    fn interactive_clients_get_pretty_json() {
        let pretty = |query: &str, agent: &str| is_pretty(&Query::parse(query), agent);
        assert!(pretty("pretty=true", ""));
        assert!(pretty("", "curl/8.0"));
        assert!(!pretty("pretty=false", "curl/8.0"));
        assert!(!pretty("", "kubectl/v1.32"));
    }
}
