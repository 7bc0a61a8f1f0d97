//! What the fuzzer varies. Each area generates cases in the format of the corpus.

mod access;
mod crds;
mod fields;
mod http;
mod lists;
mod sequences;

use fastrand::Rng;
use serde_json::Value;

use crate::oracle::OracleKinds;

/// An area of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// Fields of built-in kinds.
    Fields,
    /// Sequences of requests that change one object.
    Sequences,
    /// Lists and watches.
    Lists,
    /// Definitions, their objects, and rules in CEL.
    Crds,
    /// Roles, impersonation and reviews.
    Access,
    /// Unusual HTTP.
    Http,
}

impl Area {
    /// All areas.
    pub const ALL: [Self; 6] =
        [Self::Fields, Self::Sequences, Self::Lists, Self::Crds, Self::Access, Self::Http];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fields => "fields",
            Self::Sequences => "sequences",
            Self::Lists => "lists",
            Self::Crds => "crds",
            Self::Access => "access",
            Self::Http => "http",
        }
    }

    /// The area of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// The case of a seed and a number. `only` limits it to one plural.
    pub fn case(self, oracle: &OracleKinds, seed: u64, number: u64, only: Option<&str>) -> Value {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (number << 3) ^ self as u64);
        match self {
            Self::Fields => fields::case(oracle, &mut rng, only),
            Self::Sequences => sequences::case(oracle, &mut rng, only),
            Self::Lists => lists::case(&mut rng),
            Self::Crds => crds::case(&mut rng),
            Self::Access => access::case(&mut rng),
            Self::Http => http::case(&mut rng),
        }
    }
}
