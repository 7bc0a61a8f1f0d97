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

#[cfg(test)]
mod tests {
    use windtunnel_core::{Identity, View};

    use super::*;
    use crate::schedule::Surroundings;
    use crate::{Actor, Input, Interest, Step};

    #[derive(Clone)]
    struct Idle(&'static str);

    impl Actor for Idle {
        fn name(&self) -> &str {
            self.0
        }

        fn identity(&self) -> Identity {
            Identity::admin()
        }

        fn interests(&self) -> Vec<Interest> {
            Vec::new()
        }

        fn step(&mut self, _: &Input<'_>) -> Step {
            Step::default()
        }
    }

    fn takes_turn(schedule: &mut Schedule, id: ActorId, now: Time) -> bool {
        let view = View::default();
        schedule.turn(id, Surroundings { view: &view, alerts: &[], counters: &[], now }).is_some()
    }

    #[test]
    fn the_last_actor_takes_its_turn_after_all_others() {
        let mut schedule = Schedule::default();
        let [one, two, three] = ["one", "two", "three"].map(|name| schedule.add(Box::new(Idle(name))));
        schedule.put_last(one);
        let order: Vec<ActorId> = std::iter::from_fn(|| schedule.next_ready()).collect();
        assert_eq!(order, [two, three, one]);
        schedule.end_last("one");
        for id in [three, one] {
            schedule.ready.insert(id);
        }
        assert_eq!(schedule.next_ready(), Some(one));
    }

    #[test]
    fn a_slow_actor_takes_each_turn_later() {
        let mut schedule = Schedule::default();
        let id = schedule.add(Box::new(Idle("slow")));
        let delay = SignedDuration::from_secs(3);
        schedule.slow_down(id, delay);
        let now = Time::UNIX_EPOCH;
        assert!(!takes_turn(&mut schedule, id, now));
        assert_eq!(schedule.due(), Some(after(now, delay)));
        assert!(!takes_turn(&mut schedule, id, after(now, SignedDuration::from_secs(1))));
        assert!(takes_turn(&mut schedule, id, after(now, delay)));
        assert!(!takes_turn(&mut schedule, id, after(now, delay)), "the next turn is late as well");
        schedule.end_delay("slow");
        assert!(takes_turn(&mut schedule, id, after(now, delay)));
    }
}
