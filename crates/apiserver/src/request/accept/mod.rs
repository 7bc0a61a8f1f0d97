//! Content negotiation: the media type of an answer and the shape of its objects
//! (`k8s.io/apiserver/pkg/endpoints/handlers/negotiation`).
//!
//! A client that accepts protobuf gets JSON. This works because clients read the content type of the answer.

mod header;

use header::{Clause, clauses};

use crate::request::Query;
use crate::status::{Outcome, Refused};

pub(crate) const PARTIAL: &str = "PartialObjectMetadata";
pub(crate) const PARTIAL_LIST: &str = "PartialObjectMetadataList";
const META: &str = "meta.k8s.io";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The served media types. A wildcard selects the first that fits.
const SERVED: [(&str, Media); 3] = [(JSON, Media::Json), (YAML, Media::Yaml), (PROTOBUF, Media::Json)];

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
}

/// The properties of an endpoint that limit its answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) objects: Objects,
    /// Whether the endpoint lists objects and thus can be watched.
    pub(crate) list: bool,
    /// Whether the request is a watch, which has no YAML form.
    pub(crate) watch: bool,
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

/// Chooses the first clause of an `Accept` header, by preference, that the endpoint can answer.
///
/// # Errors
/// 406 if there is none.
pub(crate) fn negotiate(header: &str, offer: Offer) -> Outcome<(Media, Shape)> {
    if header.is_empty() {
        return Ok((Media::Json, Shape::Whole));
    }
    // In the real server, a router checks the media types of requests for built-in groups first.
    let custom = offer.objects == Objects::Custom;
    if !custom && !header::is_routed(header, SERVED.map(|(name, _)| name)) {
        return Err(Refused::not_acceptable(offer.list));
    }
    for clause in clauses(header) {
        for (name, media) in SERVED {
            if !clause.covers(name) || (offer.watch && media == Media::Yaml) {
                continue;
            }
            let Some(shape) = shape(&clause) else { continue };
            let has_table = offer.objects != Objects::Answers;
            if custom && name == PROTOBUF && shape == Shape::Whole
                || !has_table && matches!(shape, Shape::Table(_))
            {
                continue;
            }
            let pretty = media == Media::Json && clause.parameter("pretty") == "1";
            return Ok((if pretty { Media::PrettyJson } else { media }, shape));
        }
    }
    let types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    Err(Refused::unsupported_shape(format!("only the following media types are accepted: {types}")))
}

/// The shape that the parameters `as`, `g` and `v` select; `None` if it is not supported.
fn shape(clause: &Clause<'_>) -> Option<Shape> {
    let (kind, group, version) = (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"));
    if kind.is_empty() && group.is_empty() && version.is_empty() {
        let stream = clause.parameter("stream");
        return matches!(stream, "" | "watch").then_some(Shape::Whole);
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

/// The version of a kind of the group `apidiscovery.k8s.io`, if the header prefers that kind to plain JSON.
pub(crate) fn discovery_version<'a>(header: &'a str, kind: &str, served: &[&str]) -> Option<&'a str> {
    let wanted = clauses(header).into_iter().find_map(|clause| {
        if !clause.covers(JSON) {
            return None;
        }
        let version = clause.parameter("v");
        match (clause.parameter("g"), clause.parameter("as")) {
            ("", "") => Some(None),
            ("apidiscovery.k8s.io", requested) if requested == kind && served.contains(&version) => {
                Some(Some(version))
            }
            _ => None,
        }
    });
    wanted.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer { objects: Objects::BuiltIn, list: true, watch: false };

    fn check(header: &str, chosen: Result<(Media, Shape), u16>) {
        assert_eq!(negotiate(header, OFFER).map_err(|refused| refused.code), chosen, "{header}");
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
    }

    #[test]
    fn negotiate_rejects_unsupported_types() {
        check("image/png, text/html", Err(406));
        check("application/json;as=Nonsense;v=v1;g=meta.k8s.io", Err(406));
        let refused = |header: &str, offer| negotiate(header, offer).unwrap_err().message.clone();
        let custom = Offer { objects: Objects::Custom, ..OFFER };
        assert!(refused("image/png", OFFER).starts_with("406: Not Acceptable"));
        assert!(refused("image/png", custom).starts_with("only the following media types"));
        assert!(refused(PROTOBUF, custom).starts_with("only the following media types"));
        let answers = Offer { objects: Objects::Answers, list: false, ..OFFER };
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert!(refused(table, answers).starts_with("only the following media types"));
        assert!(negotiate(&format!("{table},application/json"), answers).is_ok());
        let watch = Offer { watch: true, ..OFFER };
        assert!(refused(YAML, watch).starts_with("only the following media types"));
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
