//! Compares a cluster with an earlier state of it, and lists what an update there and back leaves.
//!
//! ```text
//! earlier state --+
//!                 +--> contents without volatile fields --> differences --> leftovers: what, where, from which release
//! state now ------+
//! ```

mod changed_objects;
mod contents;
mod difference;
mod known_states;
mod leftover;
mod list;
mod origin;
pub mod trace;
pub mod volatile;

pub use self::leftover::{Leftover, What};
pub use self::list::render;

pub(in crate::engine) use self::changed_objects::{ChangedObject, ObjectChange, changed_objects};
pub(in crate::engine) use self::contents::Contents;
pub(in crate::engine) use self::difference::Difference;
pub(in crate::engine) use self::known_states::{KnownStates, State};

use windtunnel_core::View;
use windtunnel_openshift::environment::Environment;

use self::known_states::completed_version;
use crate::plan::Restoration;

/// Checks that nothing is left over in a cluster with these known states.
///
/// # Errors
/// All leftovers, or why there is nothing to compare with.
pub(in crate::engine) fn check(
    states: &KnownStates,
    wanted: &Restoration,
    view: &View,
    environment: &Environment,
) -> Result<(), String> {
    let before = states.find(&wanted.to, view)?;
    let was = before.version();
    // A cluster at another release differs anyway, and a step that waits checks this after each write.
    if !was.is_empty() && was != completed_version(view) {
        return Err(format!("the cluster is not at {was}, as it was"));
    }
    let mut found = leftovers(before, &State::of(view), environment);
    found.retain(|leftover| !leftover.is_ignored(&wanted.ignored));
    if found.iter().any(Leftover::counts) {
        Err(format!("the cluster is not what it was at {was}: {}", render(&found)))
    } else {
        Ok(())
    }
}

/// The differences between a cluster before it first left a release and now; none if it never left one.
pub(in crate::engine) fn since_first_update(
    states: &KnownStates,
    view: &View,
    environment: &Environment,
) -> Vec<Leftover> {
    let before = states.first_departure();
    before.map(|before| leftovers(before, &State::of(view), environment)).unwrap_or_default()
}

/// The differences between an earlier state of a cluster and a later one, the most severe first.
pub(in crate::engine) fn leftovers(before: &State, now: &State, environment: &Environment) -> Vec<Leftover> {
    let mut found = compare(before.contents(), now.contents());
    origin::find_origins(&mut found, now.view(), environment);
    found
}

fn compare(before: &Contents, now: &Contents) -> Vec<Leftover> {
    let leftovers_of = |ChangedObject { key, kind, change }: ChangedObject<'_>| match change {
        ObjectChange::Missing => vec![Leftover::missing(kind, key)],
        ObjectChange::New(content) => vec![Leftover::new_object(kind, key, content.owner())],
        ObjectChange::Fields(fields) => {
            fields.into_iter().map(|difference| Leftover::of_field(kind, key, difference)).collect()
        }
    };
    let mut found: Vec<Leftover> = changed_objects(before, now).flat_map(leftovers_of).collect();
    found.sort_by(|one, other| one.what.cmp(&other.what).then_with(|| one.object.cmp(&other.object)));
    found
}
