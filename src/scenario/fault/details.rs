//! The keys of a fault other than its target and `is`.

use jiff::SignedDuration;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::requests::faults::{FaultEffect, Hits, ProgramFault, RequestFault, RequestFilter};
use windtunnel_core::yaml::Node;

use super::target::requests;
use crate::plan::InjectedFault;
use crate::scenario::reader::{Map, Reader};

/// The highest value of `times` and `nth`.
const TIMES_MAX: u32 = 1000;

/// Default seconds in `Retry-After`.
const RETRY_AFTER: u32 = 1;

/// Default time for which another holder has the Lease.
const LEASE_LOST: SignedDuration = SignedDuration::from_mins(3);

/// Parser of the keys of a fault other than its target and `is`.
pub(super) struct Details<'a, 'r, 'n> {
    pub(super) reader: &'a mut Reader<'r>,
    pub(super) node: &'n Node,
    pub(super) map: &'a Map<'n>,
    pub(super) lasts: Option<SignedDuration>,
}

impl Details<'_, '_, '_> {
    fn text(&mut self, key: &str, what: &str) -> String {
        self.map.get(key).and_then(|node| self.reader.text(node, what)).unwrap_or_default()
    }

    /// Parses a number from 1; a missing key gives `default`.
    pub(super) fn number(&mut self, key: &str, default: u32) -> Option<u32> {
        match self.map.get(key) {
            Some(node) => self.reader.number(node, 1, TIMES_MAX),
            None => Some(default),
        }
    }

    /// Parses a fault of an operator, a node or pods.
    pub(super) fn injected_fault(&mut self, word: &str) -> Option<Fault> {
        let kind = FaultKind::named(word)?;
        let (reason, message) = (self.text("reason", "a reason"), self.text("message", "a message"));
        let times = self.number("times", u32::from(kind == FaultKind::RebootLoop))?;
        let is_clock = matches!(kind, FaultKind::ClockAhead | FaultKind::ClockBehind);
        let by = if is_clock { self.offset(word)? } else { SignedDuration::ZERO };
        Some(Fault { reason, message, times, by, ..Fault::new(kind) })
    }

    /// Parses the difference of a wrong clock.
    fn offset(&mut self, word: &str) -> Option<SignedDuration> {
        let Some(by) = self.map.get("by") else {
            self.reader.error(self.node, format!("`{word}` needs `by`: the difference, such as `10m`"));
            return None;
        };
        self.reader.duration(by)
    }

    /// Parses the delay of a slow component.
    fn delay(&mut self, word: &str) -> Option<SignedDuration> {
        let Some(by) = self.map.get("by") else {
            self.reader.error(self.node, format!("`{word}` needs `by`: the delay, such as `3s`"));
            return None;
        };
        self.reader.duration(by)
    }

    /// Parses which of the matching requests fail. `nth` without `times` means only that request.
    fn hits(&mut self, default_times: Option<u32>) -> Option<Hits> {
        let default_times = if self.map.get("nth").is_some() { Some(1) } else { default_times };
        let (nth, times) = (self.number("nth", 1)?, self.number("times", 0)?);
        Some(Hits::new(nth, Some(times).filter(|times| *times > 0).or(default_times)))
    }

    pub(super) fn requests(&mut self, requests: RequestFilter, word: &str) -> Option<InjectedFault> {
        // A client that lists again after every event would never stop.
        let hits = self.hits((word == "watch-duplicate").then_some(1))?;
        let message = self.text("message", "the message of the API server");
        let retry_after = match self.map.get("retry-after") {
            Some(node) => u32::try_from(self.reader.duration(node)?.as_secs()).unwrap_or(u32::MAX),
            None => RETRY_AFTER,
        };
        let effect = self.effect(word)?;
        Some(InjectedFault::Requests(RequestFault { requests, effect, hits, message, retry_after }))
    }

    /// Parses what happens to requests, with the delay or the number of events that it needs.
    fn effect(&mut self, word: &str) -> Option<FaultEffect> {
        let needs = |key: &str, example: &str| format!("`{word}` needs `{key}`, such as `{key}: {example}`");
        let delay = match (word, self.map.get("by")) {
            ("watch-slow", None) => {
                self.reader.error(self.node, needs("by", "10s"));
                return None;
            }
            ("watch-slow", Some(node)) => self.reader.duration(node)?,
            _ => SignedDuration::ZERO,
        };
        if word == "watch-behind" && self.map.get("events").is_none() {
            self.reader.error(self.node, needs("events", "3"));
            return None;
        }
        let events = self.number("events", 0)?;
        FaultEffect::named(word, delay, events)
    }

    pub(super) fn program(&mut self, word: &str) -> Option<ProgramFault> {
        let writes = match self.map.get("write") {
            Some(node) => requests(self.reader, node)?,
            None => RequestFilter::default(),
        };
        let hits = self.hits(Some(1))?;
        match word {
            "watch-stale" => Some(ProgramFault::StaleWatch),
            "watch-dropped" => Some(ProgramFault::DroppedWatch),
            "killed" => Some(ProgramFault::Killed),
            "paused" => Some(ProgramFault::Paused),
            "last-in-turn" => Some(ProgramFault::LastInTurn),
            "slow" => Some(ProgramFault::Slow(self.delay(word)?)),
            "clock-ahead" => Some(ProgramFault::SkewedClock(self.offset(word)?)),
            "clock-behind" => Some(ProgramFault::SkewedClock(-self.offset(word)?)),
            "lease-lost" => Some(ProgramFault::LosesLease(self.lasts.unwrap_or(LEASE_LOST))),
            _ => Some(ProgramFault::Crash { writes, after: word == "crash-after-write", hits }),
        }
    }
}
