//! Seeded mutants: faulty components, each after a known bug, that an exploration should find.
//!
//! A seeded mutant changes the input and the decisions of one component's turns. The mutants of `windtunnel mutate` come from what a
//! run wrote; these come from bug trackers and from the classes of mistakes that controllers have.

mod belief;
mod kubelet;
mod kubernetes;
mod machine_config;
mod operators;
mod planted;
mod version;
mod writes;

use windtunnel_controllers::{Actor, Effect, Signal, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::mark::Mark;
use windtunnel_core::{Change, Operation, Rejection, View, Write};

use self::planted::Planted;

/// The mark of a run in which a seeded mutant changed something.
const HIT: Mark = Mark::new("a planted bug had an effect");

/// A component with one known bug.
#[derive(Debug)]
pub struct SeededMutant {
    /// Its name, such as `uncordon-forgotten`.
    pub name: &'static str,
    /// The component: the name of its process, or of the processes on all nodes or for all operators.
    pub component: &'static str,
    /// The bug that it is after, or the class of such bugs.
    pub bug: &'static str,
    /// The bug in words.
    pub text: &'static str,
    kind: SeededMutantKind,
}

/// The surroundings of a turn.
struct Scene<'a> {
    /// The name of the process.
    by: &'a str,
    /// The real cluster.
    view: &'a View,
    now: Time,
}

/// The way in which a seeded mutant is wrong.
#[derive(Debug, Clone, Copy)]
enum SeededMutantKind {
    /// Some writes are not made, or others are.
    Writes(fn(&Write, &Scene<'_>) -> Fate),
    /// Some changes are overlooked.
    Overlooks(fn(&Change) -> bool),
    /// Some signals are not heard.
    Deaf(fn(&Signal) -> bool),
    /// Some rejections count as success.
    Misreads(fn(&Write, &Rejection) -> bool),
    /// Some effects do not happen.
    Loses(fn(&Effect, &Scene<'_>) -> bool),
    /// The next turn comes at another time.
    Wakes(fn(&Step, &Scene<'_>) -> Option<Option<Time>>),
}

/// The fate of a write.
enum Fate {
    /// It is made.
    Made,
    /// It is forgotten.
    Skipped,
    /// It is made with other content.
    Changed(Operation),
    /// It is made, and then these are.
    Followed(Vec<Write>),
    /// The component panics instead.
    Panics,
}

impl SeededMutant {
    /// The mutant of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        seeded_mutants().find(|mutant| mutant.name == name)
    }

    /// The name of the mark of runs in which a mutant changed something.
    pub fn mark() -> &'static str {
        HIT.name()
    }

    /// Turns an actor into the mutant, if it is one of the component.
    pub(in crate::engine) fn plant_in(&'static self, actor: Box<dyn Actor>) -> Box<dyn Actor> {
        let rest = actor.name().strip_prefix(self.component);
        let is_meant = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_meant { Box::new(Planted::new(actor, self)) } else { actor }
    }
}

/// All seeded mutants.
pub fn seeded_mutants() -> impl Iterator<Item = &'static SeededMutant> {
    [version::MUTANTS, operators::MUTANTS, machine_config::MUTANTS, kubelet::MUTANTS, kubernetes::MUTANTS]
        .into_iter()
        .flatten()
}
