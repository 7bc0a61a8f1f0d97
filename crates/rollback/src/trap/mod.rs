//! Traps: the effects of a rollback, their harm, and the clients that write such values.

mod harm;
mod writer;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::trial::Exchange;

pub use harm::Harm;
pub(crate) use writer::writer;

/// An object of the newer release that the older one rejects or changes, or a note about a difference.
#[derive(Debug, Clone)]
pub struct Trap {
    /// The name of the definition.
    pub definition: String,
    /// The kind of the objects.
    pub kind: String,
    /// The version; empty for a difference of the definition itself.
    pub version: String,
    /// The path of the difference in the schema; empty for a difference of the whole kind.
    pub path: String,
    /// The kind of the difference, such as `enum`.
    pub difference: &'static str,
    /// The values that only the newer release accepts.
    pub detail: String,
    /// The harm at the minor that judges.
    pub harm: Harm,
    /// The clients that write such values.
    pub writer: String,
    /// The proof, or the reason why there is none.
    pub proof: Proof,
    /// The harm at each minor.
    pub by_minor: BTreeMap<u32, Harm>,
    /// The objects of the cluster that have the value.
    pub hits: Vec<String>,
}

/// The proof of a trap.
#[derive(Debug, Clone)]
pub enum Proof {
    /// A witness with its requests.
    Proved(Box<Witness>),
    /// No witness was found, for this reason.
    Unproved(String),
    /// The newer release has another restriction in its place, and the older release accepts all of this many values that
    /// the newer one does.
    Reworded(usize),
    /// A note needs none.
    Note,
}

impl Proof {
    /// The name for data.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Proved(_) => "proved",
            Self::Unproved(_) => "unproved",
            Self::Reworded(_) => "reworded",
            Self::Note => "note",
        }
    }
}

/// An object that shows a trap.
#[derive(Debug, Clone)]
pub struct Witness {
    /// The object, as a client of the newer release sends it.
    pub object: Value,
    /// The place of the difference in it.
    pub place: String,
    /// The value that readers get after the rollback, if it differs; `null` if it is missing.
    pub read: Option<Value>,
    /// Its state after the change that the older release rejects, if the trap is about changes.
    pub after: Option<Value>,
    /// The requests, from the creation under the newer definition on.
    pub exchanges: Vec<Exchange>,
    /// Errors at other places, if every object that was found has some.
    pub others: Vec<String>,
}

impl Trap {
    /// The first minor from the judging one on at which no write is blocked any more, if a write is blocked at the judging one.
    pub fn saved_from(&self) -> Option<u32> {
        if self.harm > Harm::Edits {
            return None;
        }
        let mut later = self.by_minor.iter().rev().take_while(|(_, harm)| **harm > Harm::Edits);
        later.by_ref().last().map(|(minor, _)| *minor)
    }

    /// Whether the trap is listed apart, because it has no witness.
    pub fn is_unproved(&self) -> bool {
        matches!(self.proof, Proof::Unproved(_))
    }

    /// The identity: definition, version, path and difference.
    pub fn id(&self) -> String {
        format!("{}/{}:{}:{}", self.definition, self.version, self.path, self.difference)
    }

    /// A hash of the identity and of what only one release accepts, for baselines: a further enum value is a new trap.
    pub fn fingerprint(&self) -> String {
        let text = format!("{}:{}:{}", self.id(), self.detail, self.harm);
        format!("{:016x}", windtunnel_core::rng::fnv1a(text.as_bytes()))
    }
}
