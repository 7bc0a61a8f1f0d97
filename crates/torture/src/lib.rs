//! Tortures of windtunnel: kills, failing disks, bombs, hostile clients, and what must survive them.
//!
//! An area is a way to break the program. [`run`] gives each area its share of the time, and returns an
//! [`Outcome`] for each; [`table`] renders them.

mod area;
mod bombs;
mod clients;
mod clock;
pub mod disks;
mod kills;
mod leaks;
mod outcome;
mod process;
mod stop;
pub mod table;
mod trial;
mod wire;

pub use area::{Area, share};
pub use clock::{Deadline, Stopwatch};
pub use kills::ledger::{Found, Ledger};
pub use outcome::{Finding, Kind, Outcome};
pub use stop::Stop;
pub use trial::Trial;

/// Runs one area until its time is over, and returns what it found.
///
/// # Errors
/// The area could not run at all, for instance because the program does not start.
pub fn run(area: Area, trial: &Trial) -> Result<Outcome, String> {
    match area {
        Area::Bombs => bombs::run(trial),
        Area::Clients => clients::run(trial),
        Area::Leaks => leaks::run(trial),
        Area::Kills => kills::run(trial),
        Area::Disks => disks::run(trial),
    }
}
