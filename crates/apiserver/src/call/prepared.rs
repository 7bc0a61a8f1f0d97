//! Writes that a copy of the server prepared: everything that comes before they are stored.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use crate::kinds::Kind;
use crate::kinds::typed::Empty;
use crate::rejection::BoxedRejection;
use crate::store::{Entry, FieldOwners, Stored};

/// A prepared write.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The revision of the copy.
    pub(crate) revision: u64,
    pub(crate) kind: Arc<Kind>,
    pub(crate) result: Result<Write, BoxedRejection>,
    found: Found,
}

/// The end of a prepared write.
#[derive(Debug)]
pub(crate) enum Write {
    /// A new object is stored.
    New { object: Value, owners: FieldOwners },
    /// A stored object is replaced.
    Update {
        object: Value,
        owners: FieldOwners,
        /// The stored object.
        entry: Entry,
        /// The stored object in the version of the call.
        old: Stored,
    },
}

/// What the stages of a call found out for later stages.
#[derive(Debug)]
struct Found {
    warnings: Vec<String>,
    new_name: Option<String>,
    empties: Vec<Empty>,
    before: Option<Stored>,
    is_encoded_anew: bool,
    fits_in_etcd: bool,
}

impl Prepared {
    /// What a copy of the server, at this revision, made of a call.
    pub(crate) fn new(
        call: &mut Call<'_>,
        revision: u64,
        result: Result<Write, BoxedRejection>,
        fits_in_etcd: bool,
    ) -> Self {
        let found = Found {
            warnings: std::mem::take(&mut call.warnings),
            new_name: call.new_name.take(),
            empties: std::mem::take(&mut call.empties),
            before: call.before.take(),
            is_encoded_anew: call.is_encoded_anew,
            fits_in_etcd,
        };
        Self { revision, kind: Arc::clone(&call.kind), result, found }
    }

    /// Gives a call what the stages of the copy found out, and returns how it ends.
    pub(crate) fn resume(self, call: &mut Call<'_>) -> Result<Write, BoxedRejection> {
        let Found { warnings, new_name, empties, before, is_encoded_anew, fits_in_etcd } = self.found;
        (call.warnings, call.new_name, call.empties, call.before) = (warnings, new_name, empties, before);
        (call.is_encoded_anew, call.attempt.fits_in_etcd) = (is_encoded_anew, fits_in_etcd);
        self.result
    }
}
