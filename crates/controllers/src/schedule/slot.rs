//! One actor in a schedule, with its inbox, its clock and the requests that its client still has to make.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Identity, View, Write};

use crate::{Actor, Signal};

#[derive(Clone)]
pub(super) struct Slot {
    pub(super) actor: Box<dyn Actor>,
    pub(super) identity: Identity,
    pub(super) inbox: Inbox,
    pub(super) client: Client,
    pub(super) wake_at: Option<Time>,
    /// The reason why the actor waits, as the actor words it.
    pub(super) why: String,
    /// The cluster as the actor sees it while its watches are silent.
    pub(super) stale: Option<Box<View>>,
    /// The actor does not run until then.
    pub(super) down_until: Option<Time>,
    /// How far the clock of the actor's machine is ahead, and how far it was moved since the actor's last
    /// turn.
    pub(super) ahead: SignedDuration,
    pub(super) leap: SignedDuration,
    /// How much later than it could the actor takes each turn.
    pub(super) delay: SignedDuration,
    /// When it takes the turn that is postponed.
    pub(super) turn_at: Option<Time>,
}

/// News since the last turn of an actor.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox {
    pub(super) changes: Vec<Change>,
    pub(super) answers: Vec<Answer>,
    pub(super) signals: Vec<Signal>,
}

/// The client of an actor, which repeats rejected requests as client-go does.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    pub(super) unsent: VecDeque<Write>,
    /// Answers to requests that were made before `unsent`; the actor sees all answers of a turn at once.
    pub(super) unread: Vec<Answer>,
    /// When it repeats the first unsent request.
    pub(super) retry_at: Option<Time>,
    pub(super) retries: u32,
}

impl Slot {
    pub(super) fn new(actor: Box<dyn Actor>) -> Self {
        Self {
            identity: actor.identity(),
            actor,
            inbox: Inbox::default(),
            client: Client::default(),
            wake_at: None,
            why: String::new(),
            stale: None,
            down_until: None,
            ahead: SignedDuration::ZERO,
            leap: SignedDuration::ZERO,
            delay: SignedDuration::ZERO,
            turn_at: None,
        }
    }
}
