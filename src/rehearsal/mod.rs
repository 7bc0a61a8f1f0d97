//! Rehearsals: the update of a cluster that exists, run in a simulated copy of it.
//!
//! A run stops where the cluster makes no progress any more. The rehearsal finds the object to blame, makes the smallest change
//! that lets the update go on, and continues to the next stop, until the update is complete.
//!
//! * `run.rs`: one run, from the request of the update to its end
//! * `milestones.rs`: what counts as progress
//! * `cause/`: the object to blame for a stop, by evidence; `repair.rs`: the change that ends it
//! * `warnings/`: findings that need no run; `unseen.rs`: what the dump cannot show
//! * `length.rs`: what makes an update long; `back.rs`: the way back
//! * `emitted.rs`: the scenario of a rehearsal
//! * `report.rs`: the result of several runs, as JSON; `text.rs`: for a terminal

mod back;
mod cause;
mod emitted;
mod length;
mod milestones;
mod repair;
mod report;
mod run;
mod text;
mod unseen;
mod warnings;

pub use back::{Back, NoReturn, find_way_back};
pub use cause::Blamed;
pub use emitted::{Emitted, scenario_text};
pub use length::Slow;
pub use repair::Repair;
pub use report::{Report, Verdict, schema, schema_of_several};
pub use run::{Rehearsed, Stop, rehearse};
pub use unseen::{Unseen, unseen};
pub use warnings::{CertificateEnd, Evidence, Warning, warnings};
