//! The turns of actors: which actor is ready, when the next one wakes, and what each one sees.
//!
//! A [`Schedule`] does no IO and reads no clock. Its owner loops: deliver changes, wake the actors that are
//! due, then give each ready actor a turn ([`Schedule::turn`]) and make its requests
//! ([`Schedule::next_request`]). Ready actors take their turns in the order of their numbers, so the same
//! input gives the same order.
//!
//! `router.rs` finds the actors that a change wakes.

mod client;
mod order;
mod router;
mod slot;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::limits::{STEPS_PER_ACTOR_MAX, STEPS_PER_MOMENT_MAX};
use windtunnel_core::{Change, View, Write, mark};

pub use self::client::Request;
pub use self::router::ActorId;
use self::router::Router;
use self::slot::Slot;
use crate::counter::Counter;
use crate::environment::NodeEnvironment;
use crate::{Actor, Effect, Input, Signal};

/// Actors with their inboxes. A copy runs on separately.
#[derive(Clone, Default)]
pub struct Schedule {
    slots: BTreeMap<ActorId, Slot>,
    next_id: ActorId,
    router: Router,
    wakes: BTreeSet<(Time, ActorId)>,
    ready: BTreeSet<ActorId>,
    /// When clients retry requests.
    retries: BTreeSet<(Time, ActorId)>,
    /// The actors that take their turns after all others that are ready.
    last: BTreeSet<ActorId>,
}

/// The cluster at the moment of a turn.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// All objects.
    pub view: &'a View,
    /// Pending and firing alerts.
    pub alerts: &'a [ActiveAlert],
    /// The counters of running components.
    pub counters: &'a [Counter],
    /// The moment.
    pub now: Time,
}

/// The decisions of an actor in a turn.
#[derive(Debug)]
pub struct Turn {
    /// Requests to queue.
    pub writes: Vec<Write>,
    /// When the actor takes its next turn without news; for [`Schedule::wake_at`].
    pub wake_at: Option<Time>,
    /// Effects outside the API.
    pub effects: Vec<Effect>,
    /// The names of the marks that it reached.
    pub marks: Vec<&'static str>,
}

/// An actor that waits for something.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// The actor's name.
    pub actor: &'a str,
    /// The reason why it waits, as the actor words it.
    pub why: &'a str,
    /// When it takes a turn without news.
    pub until: Option<Time>,
}

impl Schedule {
    /// Adds an actor, which is ready at once.
    pub fn add(&mut self, actor: Box<dyn Actor>) -> ActorId {
        let id = self.next_id;
        self.next_id += 1;
        self.router.add(id, actor.interests());
        self.slots.insert(id, Slot::new(actor));
        self.ready.insert(id);
        id
    }

    /// Drops an actor and its memory. Returns its name; `None` if it is not there.
    pub fn remove(&mut self, id: ActorId) -> Option<String> {
        self.router.remove(id);
        self.ready.remove(&id);
        self.last.remove(&id);
        let slot = self.slots.remove(&id)?;
        if let Some(wake_at) = slot.wake_at {
            self.wakes.remove(&(wake_at, id));
        }
        Some(slot.actor.name().to_owned())
    }

    /// Replaces an actor. The new one has seen nothing yet, and keeps the clock.
    pub fn replace(&mut self, id: ActorId, actor: Box<dyn Actor>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if let Some(at) = slot.wake_at.take() {
            self.wakes.remove(&(at, id));
        }
        self.last.remove(&id);
        let ahead = slot.ahead;
        *slot = Slot::new(actor);
        slot.ahead = ahead;
        self.ready.insert(id);
    }

    /// Wraps an actor in another one, which keeps its inbox and its place.
    pub fn wrap(&mut self, id: ActorId, wrap: impl FnOnce(Box<dyn Actor>) -> Box<dyn Actor>) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.actor = wrap(slot.actor.clone());
        }
    }

    /// Keeps an actor from running until `until`.
    pub fn suspend(&mut self, id: ActorId, until: Time) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.down_until = Some(until);
        }
    }

    /// Moves all actors to another environment.
    pub fn move_to(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.slots.values_mut().for_each(|slot| slot.actor.set_environment(environment));
    }

    /// Sets the clock that an actor sees this far ahead of the cluster's.
    pub fn set_clock_ahead(&mut self, id: ActorId, ahead: SignedDuration) {
        if let Some(slot) = self.slots.get_mut(&id).filter(|slot| slot.ahead != ahead) {
            slot.leap += ahead - slot.ahead;
            slot.ahead = ahead;
            self.ready.insert(id);
        }
    }

    /// Whether an actor with this number exists.
    pub fn contains(&self, id: ActorId) -> bool {
        self.slots.contains_key(&id)
    }

    /// The number of actors.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no actors.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The name of an actor.
    pub fn name(&self, id: ActorId) -> Option<&str> {
        self.slots.get(&id).map(|slot| slot.actor.name())
    }

    /// All actors by their numbers, with their names.
    pub fn names(&self) -> impl Iterator<Item = (ActorId, &str)> {
        self.slots.iter().map(|(id, slot)| (*id, slot.actor.name()))
    }

    /// The actors that wait for something.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting<'_>> {
        let waiting = self.slots.values().filter(|slot| !slot.why.is_empty());
        waiting.map(|slot| Waiting { actor: slot.actor.name(), why: &slot.why, until: slot.wake_at })
    }

    /// Sends a signal to an actor.
    pub fn signal(&mut self, id: ActorId, signal: Signal) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.inbox.signals.push(signal);
            self.ready.insert(id);
        }
    }

    /// Delivers a change to the actors that it wakes.
    pub fn deliver(&mut self, change: &Change) {
        for id in self.router.readers(change) {
            if let Some(slot) = self.slots.get_mut(&id)
                && slot.receives_change(change)
            {
                slot.inbox.changes.push(change.clone());
                self.ready.insert(id);
            }
        }
    }

    /// Makes the actors ready that scrape a metric.
    pub fn deliver_count(&mut self, metric: &str) {
        self.ready.extend(self.router.scrapers(metric));
    }

    /// How many turns all actors may take at one moment; more are a sign that they make no progress.
    pub fn turns_per_moment_max(&self) -> u32 {
        let actors = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        actors.saturating_mul(STEPS_PER_ACTOR_MAX).max(STEPS_PER_MOMENT_MAX)
    }

    /// When the next actor wakes, or the next client retries a request.
    pub fn due(&self) -> Option<Time> {
        let first = |times: &BTreeSet<(Time, ActorId)>| times.first().map(|(at, _)| *at);
        [first(&self.wakes), first(&self.retries)].into_iter().flatten().min()
    }

    /// Makes the actors ready that are due.
    pub fn wake(&mut self, now: Time) {
        while let Some((at, id)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
            self.wakes.remove(&(at, id));
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.wake_at = None;
                self.ready.insert(id);
            }
        }
    }

    /// Takes the next actor that is ready.
    pub fn next_ready(&mut self) -> Option<ActorId> {
        let first = self.ready.iter().find(|id| !self.last.contains(id)).or(self.ready.first()).copied()?;
        self.ready.remove(&first);
        Some(first)
    }

    /// Runs the next turn of an actor; `None` if the actor does not run.
    pub fn turn(&mut self, id: ActorId, surroundings: Surroundings<'_>) -> Option<Turn> {
        let Surroundings { view, alerts, counters, now } = surroundings;
        let slot = self.slots.get_mut(&id)?;
        if let Some(up) = slot.down_until.filter(|up| *up > now) {
            self.wake_at(id, Some(up));
            return None;
        }
        if let Some(at) = slot.postponed(now) {
            self.wake_at(id, Some(at));
            return None;
        }
        mark::take_reached();
        let inbox = std::mem::take(&mut slot.inbox);
        let ahead = slot.ahead;
        let input = Input {
            view: slot.stale.as_deref().unwrap_or(view),
            changes: &inbox.changes,
            answers: &inbox.answers,
            signals: &inbox.signals,
            alerts,
            counters,
            now: after(now, ahead),
            clock_shift: std::mem::take(&mut slot.leap),
        };
        let step = slot.actor.step(&input);
        slot.why = step.why.into_owned();
        let wake_at = step.wake_at.map(|at| after(at, -ahead).max(now));
        Some(Turn { writes: step.writes, wake_at, effects: step.effects, marks: mark::take_reached() })
    }

    /// Sets the time at which an actor wakes.
    pub fn wake_at(&mut self, id: ActorId, at: Option<Time>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        // An actor whose client waits to repeat a request has nothing to do before that.
        let at = at.map(|at| slot.client.retry_at.map_or(at, |retry| at.max(retry)));
        if let Some(old) = std::mem::replace(&mut slot.wake_at, at) {
            self.wakes.remove(&(old, id));
        }
        self.wakes.extend(at.map(|at| (at, id)));
    }
}
