//! Another order of turns: actors that come last, and actors that are slow.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::slot::Slot;
use super::{ActorId, Schedule};

impl Slot {
    /// The time of the turn that a slow actor does not take yet; `None` if it takes it now.
    pub(super) fn postponed(&mut self, now: Time) -> Option<Time> {
        if self.delay.is_zero() {
            return None;
        }
        let at = *self.turn_at.get_or_insert(after(now, self.delay));
        if at > now {
            return Some(at);
        }
        self.turn_at = None;
        None
    }
}

impl Schedule {
    /// Lets an actor take its turns after all others that are ready at the same moment.
    pub fn put_last(&mut self, id: ActorId) {
        self.last.insert(id);
    }

    /// Lets an actor take each turn this much later than it could. It sees the cluster at the time of the turn.
    pub fn slow_down(&mut self, id: ActorId, delay: SignedDuration) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.delay = delay;
        }
    }

    /// Lets all actors of this name take their turns after others as usual.
    pub fn end_last(&mut self, name: &str) {
        let slots = &self.slots;
        self.last.retain(|id| slots.get(id).is_some_and(|slot| slot.actor.name() != name));
    }

    /// Lets all actors of this name take their turns as soon as they can.
    pub fn end_delay(&mut self, name: &str) {
        let slow =
            self.slots.iter_mut().filter(|(_, slot)| !slot.delay.is_zero() && slot.actor.name() == name);
        for (id, slot) in slow {
            slot.delay = SignedDuration::ZERO;
            if slot.turn_at.take().is_some() {
                self.ready.insert(*id);
            }
        }
    }
}
