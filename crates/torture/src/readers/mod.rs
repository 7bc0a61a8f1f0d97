//! The readers of windtunnel: each function that takes bytes of a user or of a network.

mod cluster;
mod commands;
mod corpora;
mod definitions;
mod dumps;
mod examples;
mod insights;
mod patches;
mod queries;
mod records;
mod releases;
mod requests;
mod scenarios;
#[cfg(test)]
mod tests;
mod values;

/// A reader, and valid inputs from which damaged ones are made.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The name, which is also that of the fuzz target.
    pub name: &'static str,
    /// Reads an input to its end. A panic, or memory without bound, is a defect; an error is not.
    pub read: fn(&[u8]),
    /// Valid inputs.
    pub examples: fn() -> Vec<Vec<u8>>,
}

/// All readers.
pub const READERS: &[Reader] = &[
    scenarios::SCENARIO,
    scenarios::FEATURE,
    scenarios::GRAPH_DATA,
    scenarios::EXPLORED_CASE,
    records::RECORD,
    dumps::DUMP,
    dumps::ARCHIVE,
    dumps::ALERTS,
    requests::HTTP_REQUEST,
    requests::SELECTOR,
    requests::OBJECT,
    requests::PROTOBUF,
    patches::JSON_PATCH,
    patches::MERGE_PATCH,
    patches::STRATEGIC_PATCH,
    patches::APPLY_PATCH,
    definitions::DEFINITION,
    definitions::CEL,
    definitions::SCHEMA,
    definitions::PATTERN,
    definitions::POLICY,
    queries::PROMQL,
    queries::PROMETHEUS_REQUEST,
    queries::GRAPH_REQUEST,
    releases::PAYLOAD,
    releases::ROLLBACK,
    releases::BASELINE,
    releases::SIGNATURE,
    insights::DELIVERY,
    insights::INFORMER,
    insights::PUBLISHED,
    commands::KUBECONFIG,
    commands::OC_UPGRADE,
    commands::OC_GET,
    commands::PERTURBATION,
    values::JSONPATH,
    values::QUANTITY,
    values::SPAN,
    values::VERSION,
    values::CHECK,
    corpora::CORPUS,
];

/// Returns the reader with this name.
pub fn find(name: &str) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.name == name)
}

/// Reads bytes with the reader of this name; does nothing if there is none.
pub fn read(name: &str, bytes: &[u8]) {
    if let Some(reader) = find(name) {
        (reader.read)(bytes);
    }
}
