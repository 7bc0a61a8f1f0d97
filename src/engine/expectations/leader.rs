//! Checks that only the holder of a Lease writes, and how the Lease passes from one holder to the next.
//!
//! The holder is the client whose write took or renewed the Lease last. Programs with one ServiceAccount are different
//! clients, because the record has their processes.

use std::collections::BTreeSet;
use std::fmt;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::LEASES;
use windtunnel_core::text::short_duration;

use crate::plan::Leadership;
use crate::record::{ADMINISTRATOR, Event, INSTALLER, Record, WriteEvent};

/// The annotation of objects that served as locks before Leases.
const LOCK: &str = "control-plane.alpha.kubernetes.io/leader";

/// The duration of OpenShift's Leases, for a Lease without one.
const LEASE_DURATION: SignedDuration = SignedDuration::from_secs(137);

/// Checks the writes and the handovers since the run began.
///
/// The error describes a write by another client than the holder, or the handovers instead.
pub(in crate::engine) fn expect_one_writer(record: &Record, wanted: &Leadership) -> Result<(), String> {
    follow(record, wanted, true).map_err(|(_, how)| how)?.check_handovers()
}

/// Returns the first write since the run began that a candidate made without holding the Lease: its index in the record, and
/// a description. Before the Lease has a holder another kind of lock may elect the leader, and a holder that lost the Lease may
/// not have noticed. A candidate of an older release may hold a lock of another kind instead, with the name of the Lease.
pub fn stray_write(record: &Record, lease: &Leadership) -> Option<(usize, String)> {
    follow(record, lease, false).err()
}

/// Follows a Lease through a record, up to the first write by another client than the holder. `is_strict`: writes before the
/// first holder count, and those of a holder that may not have noticed that it lost the Lease.
fn follow<'r>(
    record: &'r Record,
    wanted: &'r Leadership,
    is_strict: bool,
) -> Result<History<'r>, (usize, String)> {
    let names = candidates(record, wanted);
    let mut history = History {
        wanted,
        epoch: record.header.epoch,
        term: None,
        last: None,
        other: None,
        known_from: None,
        handovers: Vec::new(),
    };
    for (index, entry) in record.entries.iter().enumerate() {
        let Event::Write(write) = &entry.event else { continue };
        if write.code >= 400 {
            continue;
        }
        if is_lease(write, wanted) {
            history.note(entry.at, write);
        } else if let Some(holder) = holder_of_other_lock(write, wanted) {
            history.other = (!holder.is_empty()).then(|| Client::of(write));
        } else if !record.is_set_up(entry)
            && (is_strict || history.is_known_at(entry.at))
            && names.contains(&*write.by)
            && is_guarded(write)
        {
            history.check_writer(entry.at, write).map_err(|how| (index, how))?;
        }
    }
    Ok(history)
}

/// Returns the names of the clients that held the Lease at any time, and those that the plan names.
fn candidates<'r>(record: &'r Record, wanted: &'r Leadership) -> BTreeSet<&'r str> {
    let holders = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if is_lease(write, wanted) && write.code < 400 => Some(write),
        _ => None,
    });
    let holders = holders.filter(|write| !holder(write).is_empty()).map(|write| &*write.by);
    let others = holders.filter(|by| ![ADMINISTRATOR, INSTALLER].contains(by));
    others.chain(wanted.candidates.iter().map(String::as_str)).collect()
}

fn is_lease(write: &WriteEvent, wanted: &Leadership) -> bool {
    write.key.is_kind(&LEASES) && write.key.namespace == wanted.namespace && write.key.name == wanted.name
}

/// The holder that a write of the Lease leaves; empty for none.
fn holder(write: &WriteEvent) -> &str {
    write.after.as_ref().map_or("", |after| after.text("/spec/holderIdentity"))
}

/// Returns the holder that a write leaves in a lock of another kind with the name of the Lease (`configmapsleases` of client-go);
/// `None` if it writes no such lock.
fn holder_of_other_lock(write: &WriteEvent, wanted: &Leadership) -> Option<String> {
    let is_meant = write.key.namespace == wanted.namespace && write.key.name == wanted.name;
    let lock = write.after.as_ref().filter(|_| is_meant)?.annotation(LOCK)?;
    let lock: serde_json::Value = serde_json::from_str(lock).ok()?;
    Some(lock["holderIdentity"].as_str().unwrap_or_default().to_owned())
}

/// Whether a write belongs to the work of a leader: not to its election or its Events, and not to a review, which stores
/// nothing.
fn is_guarded(write: &WriteEvent) -> bool {
    let mut objects = write.before.iter().chain(&write.after).peekable();
    objects.peek().is_some()
        && !["Lease", "Event"].contains(&&*write.kind)
        && !objects.any(|object| object.annotation(LOCK).is_some())
}

/// A client as the record distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Client<'r> {
    by: &'r str,
    process: &'r str,
}

impl<'r> Client<'r> {
    fn of(write: &'r WriteEvent) -> Self {
        Self { by: &write.by, process: &write.process }
    }
}

impl fmt::Display for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            "" => f.write_str(self.by),
            process if process == self.by => f.write_str(self.by),
            process => write!(f, "{} in {process}", self.by),
        }
    }
}

/// The time for which a client holds the Lease.
#[derive(Debug, Clone, Copy)]
struct Term<'r> {
    client: Client<'r>,
    /// The holder in the Lease.
    identity: &'r str,
    since: Time,
    /// The moment of the last renewal, or of the release.
    renewed: Time,
    /// How long the Lease is valid after a renewal.
    lasts: SignedDuration,
    /// The pause between the last two renewals; `None` before the second one.
    pause: Option<SignedDuration>,
}

impl Term<'_> {
    /// The moment at which the holder notices at the latest that it could not renew the Lease: after its pause, client-go tries for
    /// less than the Lease is valid, and pauses less than that.
    fn noticed_by(&self) -> Time {
        self.renewed + self.lasts + self.pause.unwrap_or(self.lasts)
    }
}

/// A change of the holder after the run began.
#[derive(Debug, Clone, Copy)]
struct Handover<'r> {
    from: Term<'r>,
    to: Term<'r>,
}

impl Handover<'_> {
    fn gap(&self) -> SignedDuration {
        self.to.since.duration_since(self.from.renewed)
    }
}

/// The holders of the Lease up to a moment.
struct History<'r> {
    wanted: &'r Leadership,
    epoch: Time,
    /// The current one.
    term: Option<Term<'r>>,
    /// The last one, which may be the current one.
    last: Option<Term<'r>>,
    /// The holder of a lock of another kind.
    other: Option<Client<'r>>,
    /// The moment from which on every client knows the current holder.
    known_from: Option<Time>,
    handovers: Vec<Handover<'r>>,
}

impl<'r> History<'r> {
    /// Notes a write of the Lease.
    fn note(&mut self, at: Time, write: &'r WriteEvent) {
        let spec = |object: Option<&windtunnel_core::Object>| object.map(|object| object["spec"].clone());
        if spec(write.before.as_ref()) == spec(write.after.as_ref()) {
            return;
        }
        let identity = holder(write);
        if identity.is_empty() {
            if let (Some(_), Some(last)) = (self.term.take(), &mut self.last) {
                last.renewed = at;
            }
            return;
        }
        let client = Client::of(write);
        let same = self.term.filter(|term| term.client == client && term.identity == identity);
        let seconds = write.after.as_ref().and_then(|after| after.number("/spec/leaseDurationSeconds"));
        let lasts = seconds.map_or(LEASE_DURATION, SignedDuration::from_secs);
        let since = same.map_or(at, |term| term.since);
        let pause = same.map(|term| at.duration_since(term.renewed));
        let term = Term { client, identity, since, renewed: at, lasts, pause };
        if same.is_none() {
            // A holder that released the Lease knows it.
            let lost = self.term.map(|term| term.noticed_by());
            self.known_from = Some(lost.unwrap_or(if self.last.is_none() { at + lasts } else { at }));
        }
        if let Some(from) = self.last.filter(|last| last.identity != identity && at >= self.epoch) {
            self.handovers.push(Handover { from, to: term });
        }
        (self.term, self.last) = (Some(term), Some(term));
    }

    /// Whether all clients know the holder: there has been one, and the one before it has noticed.
    fn is_known_at(&self, at: Time) -> bool {
        self.known_from.is_some_and(|from| from <= at)
    }

    /// Whether a client holds a lock of another kind while the Lease has no valid holder.
    fn holds_other(&self, client: Client<'_>, at: Time) -> bool {
        self.other == Some(client) && self.term.is_none_or(|term| term.renewed + term.lasts <= at)
    }

    /// Checks that a write comes from the holder.
    fn check_writer(&self, at: Time, write: &WriteEvent) -> Result<(), String> {
        let writer = Client::of(write);
        if self.term.is_some_and(|term| term.client == writer) || self.holds_other(writer, at) {
            return Ok(());
        }
        let WriteEvent { verb, kind, key, .. } = write;
        let namespace = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
        let object = format!("{kind}/{namespace}{}", key.name);
        let holder = match (self.term, self.last) {
            (Some(term), _) => {
                let taken = self.moment(term.since);
                format!("{} took {} {taken} and holds it", term.client, self.lease())
            }
            (None, Some(last)) => format!(
                "{} has no holder: {} released it {}",
                self.lease(),
                last.client,
                self.moment(last.renewed)
            ),
            (None, None) => format!("{} has had no holder yet", self.lease()),
        };
        Err(format!(
            "{writer} made a write that only the holder may make, {}: {verb} of {object}; {holder}",
            self.moment(at)
        ))
    }

    /// Checks the number of handovers and their gaps.
    fn check_handovers(&self) -> Result<(), String> {
        let Some(last) = self.last else { return Err(format!("{} has had no holder yet", self.lease())) };
        let too_long = |handover: &&Handover<'_>| self.wanted.gap.is_some_and(|gap| handover.gap() > gap);
        if let Some(late) = self.handovers.iter().find(too_long) {
            return Err(format!(
                "the gap before a handover of {} was {}: {} renewed or released it last {}, and {} took it {}",
                self.lease(),
                short_duration(late.gap()),
                late.from.client,
                self.moment(late.from.renewed),
                late.to.client,
                self.moment(late.to.since),
            ));
        }
        let seen = self.handovers.len();
        match self.wanted.handovers {
            Some(wanted) if usize::try_from(wanted) != Ok(seen) => {
                let plural = if seen == 1 { "" } else { "s" };
                let (client, since) = (last.client, self.moment(last.since));
                Err(format!("{seen} handover{plural} of {}: {client} took it last, {since}", self.lease()))
            }
            _ => Ok(()),
        }
    }

    fn lease(&self) -> String {
        format!("Lease {}/{}", self.wanted.namespace, self.wanted.name)
    }

    fn moment(&self, at: Time) -> String {
        if at < self.epoch {
            return "before the run".to_owned();
        }
        format!("after {}", short_duration(at.duration_since(self.epoch)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::Object;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;
    use crate::record::{Entry, Header};

    /// Writes of one run. Each method adds a write at a second since its start.
    struct Run(Vec<Entry>);

    impl Run {
        fn write(mut self, second: i64, (by, process): (&str, &str), kind: &str, after: Value) -> Self {
            let key =
                if kind == "Lease" { LEASES.key("default", "mine") } else { CONFIG_MAPS.key("default", "a") };
            let before = self.0.iter().rev().find_map(|entry| match &entry.event {
                Event::Write(write) if write.key == key => write.after.clone(),
                _ => None,
            });
            let write = WriteEvent {
                by: by.to_owned(),
                process: process.to_owned(),
                verb: "update".to_owned(),
                kind: kind.to_owned(),
                key,
                subresource: String::new(),
                code: 200,
                message: String::new(),
                before,
                after: Some(Object::new(after)),
            };
            self.0.push(Entry { at: Time::constant(second, 0), event: Event::Write(Box::new(write)) });
            self
        }

        /// A client takes, renews or (without a holder) releases the Lease.
        fn lease(self, second: i64, client: (&str, &str), holder: &str) -> Self {
            let spec = json!({ "holderIdentity": holder, "renewTime": second });
            self.write(second, client, "Lease", json!({ "spec": spec }))
        }

        fn work(self, second: i64, client: (&str, &str)) -> Self {
            self.write(second, client, "ConfigMap", json!({ "data": { "second": second } }))
        }

        #[track_caller]
        fn check(self, wanted: &Leadership, expected: &str) {
            let record = Record::new(Header::default(), self.0);
            assert_eq!(expect_one_writer(&record, wanted).err().unwrap_or_default(), expected);
        }
    }

    const ONE: (&str, &str) = ("mine", "default/mine-1/main");
    const TWO: (&str, &str) = ("mine", "default/mine-2/main");
    const ADMIN: (&str, &str) = (ADMINISTRATOR, "");

    fn run() -> Run {
        Run(Vec::new())
    }

    fn any() -> Leadership {
        Leadership::of("default/mine").unwrap()
    }

    #[test]
    fn the_holder_may_write_and_every_other_candidate_may_not() {
        run().lease(-5, ONE, "1").work(10, ONE).lease(15, ONE, "1").work(20, ONE).check(&any(), "");
        run().lease(-5, ONE, "1").work(10, ONE).work(70, TWO).lease(90, TWO, "2").check(
            &any(),
            "mine in default/mine-2/main made a write that only the holder may make, after 1m10s: update of \
             ConfigMap/default/a; mine in default/mine-1/main took Lease default/mine before the run and holds it",
        );
        run().lease(1, ONE, "1").lease(30, TWO, "2").work(31, TWO).work(32, ONE).check(
            &any(),
            "mine in default/mine-1/main made a write that only the holder may make, after 32s: update of \
             ConfigMap/default/a; mine in default/mine-2/main took Lease default/mine after 30s and holds it",
        );
    }

    #[test]
    fn nobody_may_write_after_a_release_or_before_the_first_holder() {
        run().lease(1, ONE, "1").lease(9, ONE, "").work(10, ONE).check(
            &any(),
            "mine in default/mine-1/main made a write that only the holder may make, after 10s: update of \
             ConfigMap/default/a; Lease default/mine has no holder: mine in default/mine-1/main released it after 9s",
        );
        run().work(1, ONE).lease(2, ONE, "1").check(
            &any(),
            "mine in default/mine-1/main made a write that only the holder may make, after 1s: update of \
             ConfigMap/default/a; Lease default/mine has had no holder yet",
        );
        run().work(1, ADMIN).check(&any(), "Lease default/mine has had no holder yet");
    }

    #[test]
    fn a_client_that_the_plan_names_is_a_candidate_before_it_holds_the_lease() {
        let other = ("other", "other");
        let made = || run().lease(1, ONE, "1").work(5, other);
        made().check(&any(), "");
        made().check(
            &Leadership { candidates: vec!["other".to_owned()], ..any() },
            "other made a write that only the holder may make, after 5s: update of ConfigMap/default/a; mine in \
             default/mine-1/main took Lease default/mine after 1s and holds it",
        );
    }

    #[test]
    fn an_administrator_who_takes_the_lease_may_write_and_the_old_holder_may_not() {
        let taken = run().lease(-9, ONE, "1").lease(5, ADMIN, "another-candidate").work(6, ADMIN);
        taken.work(7, ONE).check(
            &any(),
            "mine in default/mine-1/main made a write that only the holder may make, after 7s: update of \
             ConfigMap/default/a; administrator took Lease default/mine after 5s and holds it",
        );
    }

    #[test]
    fn handovers_of_the_run_are_counted_with_their_gaps() {
        let made = || run().lease(-9, ONE, "0").lease(-5, ONE, "1").lease(20, ONE, "1").lease(80, TWO, "2");
        let wanted = |handovers: u32, gap: i64| Leadership {
            handovers: Some(handovers),
            gap: Some(SignedDuration::from_secs(gap)),
            ..any()
        };
        made().work(90, TWO).check(&wanted(1, 60), "");
        made().check(
            &wanted(1, 59),
            "the gap before a handover of Lease default/mine was 1m: mine in default/mine-1/main renewed or released it \
             last after 20s, and mine in default/mine-2/main took it after 1m20s",
        );
        made().check(
            &wanted(2, 60),
            "1 handover of Lease default/mine: mine in default/mine-2/main took it last, after 1m20s",
        );
        made()
            .lease(85, TWO, "")
            .lease(95, TWO, "2")
            .lease(99, TWO, "")
            .lease(101, ONE, "1")
            .check(&wanted(2, 60), "");
    }

    #[test]
    fn labels_of_the_lease_and_other_kinds_of_election_are_no_writes_of_a_leader() {
        let labelled = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "holderIdentity": "1", "renewTime": 1 } });
        let lock = json!({ "metadata": { "annotations": { LOCK: "{}" } } });
        run()
            .lease(1, ONE, "1")
            .write(3, TWO, "Lease", labelled)
            .work(4, ONE)
            .write(5, TWO, "Event", json!({}))
            .write(6, TWO, "ConfigMap", lock)
            .check(&Leadership { handovers: Some(0), ..any() }, "");
    }

    #[test]
    fn a_candidate_of_an_older_release_holds_another_kind_of_lock() {
        let lock = |holder: &str| json!({ "metadata": { "annotations": { LOCK: json!({ "holderIdentity": holder }).to_string() } } });
        let key = |run: Run, second, holder| {
            let mut run = run.write(second, TWO, "ConfigMap", lock(holder));
            if let Some(Entry { event: Event::Write(write), .. }) = run.0.last_mut() {
                write.key = CONFIG_MAPS.key("default", "mine");
            }
            run
        };
        let elected = |holder| key(run().lease(1, ONE, "1").lease(9, ONE, ""), 10, holder);
        let older = || Leadership { candidates: vec!["mine".to_owned()], ..any() };
        elected("2").work(20, TWO).check(&older(), "");
        let found = "mine in default/mine-2/main made a write that only the holder may make, after 20s: update of \
                     ConfigMap/default/a; Lease default/mine has no holder: mine in default/mine-1/main released it after 9s";
        elected("").work(20, TWO).check(&older(), found);
        key(run().lease(1, ONE, "1"), 10, "2").work(200, TWO).check(&older(), "");
    }
}
