//! What every module may use: time, seeded randomness, YAML, text. No Kubernetes and no domain words here.

pub mod clock;
pub mod go_float;
pub mod go_quote;
pub mod jsonpath;
pub mod limits;
pub mod panics;
pub mod rng;
pub mod tabwriter;
pub mod text;
pub mod yaml;
