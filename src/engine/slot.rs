//! The place of an actor in the simulation.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_controllers::{Actor, Signal};
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Identity, View, Write};

use super::requests::Retry;

/// One actor with what waits for it.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) actor: Box<dyn Actor>,
    pub(super) identity: Identity,
    pub(super) changes: Vec<Change>,
    pub(super) answers: Vec<Answer>,
    pub(super) signals: Vec<Signal>,
    pub(super) wake_at: Option<Time>,
    pub(super) why: String,
    /// Requests that its client has still to make, the answers before them, and when the first is made again.
    pub(super) unsent: VecDeque<Write>,
    pub(super) unread: Vec<Answer>,
    pub(super) retry: Retry,
    /// The cluster as it sees it while its watches are silent.
    pub(super) stale: Option<Box<View>>,
    /// Until when nothing runs in its place.
    pub(super) down_until: Option<Time>,
    /// How much the clock of its machine is ahead.
    pub(super) ahead: SignedDuration,
    /// How far that was set since it looked last.
    pub(super) leap: SignedDuration,
}

impl Slot {
    pub(super) fn new(actor: Box<dyn Actor>) -> Self {
        Self {
            identity: actor.identity(),
            actor,
            changes: Vec::new(),
            answers: Vec::new(),
            signals: Vec::new(),
            wake_at: None,
            why: String::new(),
            unsent: VecDeque::new(),
            unread: Vec::new(),
            retry: Retry::default(),
            stale: None,
            down_until: None,
            ahead: SignedDuration::ZERO,
            leap: SignedDuration::ZERO,
        }
    }
}
