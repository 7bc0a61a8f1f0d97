//! The faults that may happen to the programs of a plan, found in a run without faults.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::requests::faults::{
    FaultEffect, Hits, ProgramFault, RequestFault, RequestFilter, WatchFault,
};
use windtunnel_core::{ChangeKind, Object};

use super::ProgramCheck;
use super::placed_fault::PlacedFault;
use super::trial::Trial;
use crate::plan::{FaultEvent, InjectedFault, Plan};
use crate::record::{Event, WriteEvent};

/// How long a program does not see the events of a kind.
const UNSEEN: SignedDuration = SignedDuration::from_secs(10);

/// When a program is killed meanwhile.
const KILLED_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// The greatest number of events that a fault can hold back.
const EVENTS_MAX: u32 = 1000;

/// A write in the run without faults.
struct Written<'a> {
    write: &'a WriteEvent,
    /// The number of steps that had begun: programs work between two steps at the same moment.
    step: usize,
    /// The moment.
    at: Time,
    /// Its number among the changes of objects of this kind and name since the run began, from 1; `None` if it changed
    /// nothing.
    nth: Option<u32>,
}

impl Written<'_> {
    /// The event in a scenario.
    fn event(&self) -> Option<FaultEvent> {
        let (kind, name) = (self.write.kind.clone(), Some(self.write.key.name.clone()));
        Some(FaultEvent { kind, name, nth: self.nth? })
    }
}

/// The faults of each run that a check may make.
pub(super) fn find(plan: &Plan, run: &Trial, check: ProgramCheck) -> Vec<Vec<PlacedFault>> {
    let writes = writes(run);
    let programs: BTreeSet<&str> = plan.cluster.programs.iter().map(|program| &*program.name).collect();
    let of_program = |program: &str| match check {
        ProgramCheck::Restarts => crashes(program, &writes),
        ProgramCheck::Staleness => stale_views(program, &events(program, run, &writes), &writes),
        ProgramCheck::Gaps => gaps(program, &events(program, run, &writes)),
    };
    programs.into_iter().flat_map(of_program).collect()
}

fn writes(run: &Trial) -> Vec<Written<'_>> {
    let (mut step, mut counts) = (0, BTreeMap::<_, u32>::new());
    let mut writes = Vec::new();
    for entry in &run.entries {
        step += usize::from(matches!(entry.event, Event::Step { .. }));
        let Event::Write(write) = &entry.event else { continue };
        let nth = has_event(write).then(|| {
            let count = counts.entry((&write.kind, &write.key.name)).or_default();
            *count += 1;
            *count
        });
        writes.push(Written { write, step, at: entry.at, nth });
    }
    writes
}

/// Whether watches report a write: it was accepted, and changed something.
fn has_event(write: &WriteEvent) -> bool {
    write.change().is_some_and(|change| {
        let old = change.old.as_ref().map(Object::resource_version);
        change.kind != ChangeKind::Modified || old != Some(change.object.resource_version())
    })
}

/// A crash before and one after each write of a program.
fn crashes(program: &str, writes: &[Written<'_>]) -> Vec<Vec<PlacedFault>> {
    let mut counts = BTreeMap::<_, u32>::new();
    let mut found = Vec::new();
    for Written { write, .. } in writes.iter().filter(|written| written.write.by == program) {
        let same = (&write.verb, &write.kind, &write.key.name, &write.subresource);
        let count = counts.entry(same).or_default();
        *count += 1;
        let requests = RequestFilter {
            verb: Some(write.verb.clone()),
            kind: Some(write.kind.clone()),
            name: Some(write.key.name.clone()),
            subresource: Some(write.subresource.clone()).filter(|subresource| !subresource.is_empty()),
            by: None,
        };
        for after in [false, true] {
            let hits = Hits::new(*count, Some(1));
            let fault = ProgramFault::Crash { writes: requests.clone(), after, hits };
            found.push(vec![of_process(program, fault)]);
        }
    }
    found
}

/// The changes by others to the kinds that a program lists or watches.
fn events<'a, 'b>(program: &str, run: &Trial, writes: &'b [Written<'a>]) -> Vec<&'b Written<'a>> {
    let reads = run.reads.kinds().filter(|read| read.program == program && read.verb != "get");
    let kinds: BTreeSet<&str> = reads.map(|read| &*read.kind).collect();
    let is_event = |written: &&Written<'_>| {
        let write = written.write;
        write.by != program && kinds.contains(&*write.kind) && written.nth.is_some()
    };
    writes.iter().filter(is_event).collect()
}

/// For each event: the program does not see it for a while; the same with a restart meanwhile; and a restart after which it
/// lists the state before the event.
fn stale_views(program: &str, events: &[&Written<'_>], writes: &[Written<'_>]) -> Vec<Vec<PlacedFault>> {
    let mut found: Vec<Vec<PlacedFault>> = Vec::new();
    for event in first_of_moments(events) {
        let unseen = unseen(program, event, WatchFault::Stale);
        let later = |fault: PlacedFault| PlacedFault { after: KILLED_AFTER, ..fault };
        let killed = of_process(program, ProgramFault::Killed);
        let killed = later(PlacedFault { event: event.event(), ..killed });
        let time_travel = vec![later(unseen_behind(program, event, writes)), killed.clone()];
        found.extend([vec![unseen.clone()], vec![unseen, killed], time_travel]);
    }
    found
}

/// The events, without those of a kind that come in the same step at the same moment as an earlier one: nobody sees one
/// without the other.
fn first_of_moments<'a, 'b>(events: &'b [&'b Written<'a>]) -> impl Iterator<Item = &'b Written<'a>> {
    let mut seen = BTreeSet::new();
    events.iter().copied().filter(move |event| seen.insert((&event.write.kind, event.step, event.at)))
}

/// The fault after which lists of a cache show the state before an event.
fn unseen_behind(program: &str, event: &Written<'_>, writes: &[Written<'_>]) -> PlacedFault {
    let until = after(event.at, KILLED_AFTER);
    let is_later = |written: &&Written<'_>| {
        let is_of_kind = written.write.kind == event.write.kind && written.nth.is_some();
        is_of_kind && (event.at..until).contains(&written.at)
    };
    let events = u32::try_from(writes.iter().filter(is_later).count()).unwrap_or(u32::MAX);
    unseen(program, event, WatchFault::Behind(events.clamp(1, EVENTS_MAX)))
}

/// For each event after which the object changes again: the program sees only the later state.
fn gaps(program: &str, events: &[&Written<'_>]) -> Vec<Vec<PlacedFault>> {
    let changes_again = |(index, event): (usize, &&Written<'_>)| {
        let later = events.get(index + 1..).unwrap_or_default();
        later.iter().any(|later| later.write.key == event.write.key)
    };
    let changing = events.iter().enumerate().filter(|(index, event)| changes_again((*index, event)));
    let changing: Vec<&Written<'_>> = changing.map(|(_, event)| *event).collect();
    first_of_moments(&changing).map(|event| vec![unseen(program, event, WatchFault::Gap)]).collect()
}

/// The fault that begins directly before an event.
fn unseen(program: &str, event: &Written<'_>, effect: WatchFault) -> PlacedFault {
    let requests = RequestFilter {
        kind: Some(event.write.kind.clone()),
        by: Some(program.to_owned()),
        ..RequestFilter::default()
    };
    let effect = FaultEffect::Watch(effect);
    let hits = Hits::new(1, None);
    let fault = RequestFault { requests, effect, hits, message: String::new(), retry_after: 1 };
    PlacedFault {
        step: 0,
        fault: InjectedFault::Requests(fault),
        event: event.event(),
        after: SignedDuration::ZERO,
        lasts: Some(UNSEEN),
    }
}

fn of_process(program: &str, fault: ProgramFault) -> PlacedFault {
    let fault = InjectedFault::Process(program.to_owned(), fault);
    PlacedFault { step: 0, fault, event: None, after: SignedDuration::ZERO, lasts: None }
}
