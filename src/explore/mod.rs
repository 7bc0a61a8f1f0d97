//! Exploration: invents clusters and what is done to them, runs them, and shrinks what breaks a rule into a scenario.
//!
//! ```text
//! invention --case--> trial --record--> oracles ---> shrinking --> emission
//!     ^                   \--> coverage --> search (corpus, forks)
//!     +------------------------------------------------+
//! ```
//!
//! A case is data of the scenario language: what runs is what is written. Nothing depends on the number of threads.
//!
//! * `invention/`: invented cases
//! * `oracles/`: rules about runs, each with a row in `ORACLES` and in `docs/how-to/explore.md`; rules about records:
//!   `src/oracles/`
//! * `coverage.rs` and `search.rs`: which runs saw a new state, and which case comes next
//! * `shrinking/`: smaller cases; `place.rs` finds the entry of the record that shows a finding
//! * `seeded.rs` and `mutants.rs`: how much an exploration finds (`--seeded`, `--mutants`); the mutants:
//!   `src/engine/mutants/seeded/`

mod case;
mod coverage;
mod dice;
mod finding;
mod invention;
mod mutants;
mod oracles;
mod place;
mod reasons;
mod replay;
mod search;
mod seeded;
mod sharing;
mod shrinking;
mod trial;

pub use case::Case;
pub use finding::Finding;
pub use mutants::{MutantRow, MutantTable, find_mutants};
pub use oracles::rules;
pub use place::Place;
pub use replay::{Replayed, replay, replay_scenario};
pub use search::{Exploration, Kept, NeverSeen, Settings, Stop};
pub use seeded::{SeededRow, SeededTable, find_seeded};
pub use sharing::seed_of_shard;
pub use shrinking::{Minimised, minimise};
pub use trial::{AnyMutant, Terms};
