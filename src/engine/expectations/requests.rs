//! Checks limits of requests: the writes in the record, and the reads of clients that the API server has seen.

use std::fmt;

use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::RequestAttributes;
use windtunnel_core::text::short_duration;

use crate::engine::counting::Counted;
use crate::engine::runtime::reads::{ReadKind, Reads};
use crate::plan::RequestLimit;
use crate::record::{Event, Record, WriteEvent};

/// The code of a request that no role allows.
const FORBIDDEN: u16 = 403;

/// Whether there were no more such requests among those that count than the limit allows.
pub(in crate::engine) fn expect_few(
    record: &Record,
    reads: &Reads,
    counted: &Counted,
    limit: &RequestLimit,
) -> Result<(), String> {
    let writes = counted.entries(record).filter_map(|entry| match &entry.event {
        Event::Write(write) if counts_write(write, limit) => Some((entry.at, Request::Write(write))),
        _ => None,
    });
    let reads = reads.times(record.header.epoch, |kind| counts_read(kind, limit));
    let reads = reads.filter(|(at, _)| counted.has(*at)).map(|(at, kind)| (at, Request::Read(kind)));
    let mut requests: Vec<(Time, Request<'_>)> = writes.chain(reads).collect();
    requests.sort_by_key(|(at, _)| *at);
    let at_most = usize::try_from(limit.at_most).unwrap_or(usize::MAX);
    let too_many = |first: usize| {
        let last = requests.get(first.saturating_add(at_most))?;
        limit.within.is_none_or(|span| last.0.duration_since(requests[first].0) < span).then_some(first)
    };
    let Some(first) = (0..requests.len()).find_map(too_many) else { return Ok(()) };
    let (began, what) = &requests[first];
    let after = short_duration(began.duration_since(record.header.epoch));
    let count = match limit.within {
        None => requests.len(),
        Some(span) => requests[first..].iter().take_while(|(at, _)| at.duration_since(*began) < span).count(),
    };
    let span = limit.within.map_or(String::new(), |span| format!(" in {}", short_duration(span)));
    Err(counted.explain(&format!("{count} such requests{span}, the first after {after}: {what}")))
}

fn counts_write(write: &WriteEvent, limit: &RequestLimit) -> bool {
    let attributes = RequestAttributes {
        verb: &write.verb,
        kind: &write.kind,
        name: &write.key.name,
        subresource: &write.subresource,
        agent: &write.by,
        user: &write.by,
        program: "",
    };
    limit.requests.matches(&attributes) && (!limit.refused || write.code == FORBIDDEN)
}

fn counts_read(read: &ReadKind, limit: &RequestLimit) -> bool {
    let attributes = RequestAttributes {
        verb: read.verb,
        kind: &read.kind,
        name: &read.name,
        subresource: &read.subresource,
        agent: &read.agent,
        user: &read.user,
        program: &read.program,
    };
    limit.requests.matches(&attributes) && (!limit.refused || read.is_refused)
}

/// A request that counts.
#[derive(Clone, Copy)]
enum Request<'a> {
    Write(&'a WriteEvent),
    Read(&'a ReadKind),
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(write) => {
                write!(f, "{} of {}/{} by {}", write.verb, write.kind, write.key.name, write.by)?;
                if write.message.is_empty() { Ok(()) } else { write!(f, ": {}", write.message) }
            }
            Self::Read(read) => write!(f, "{} of {} by {}", read.verb, read.kind, read.user),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use windtunnel_core::requests::faults::RequestFilter;

    use super::*;
    use crate::backends::ClientRead;
    use crate::plan::Since;
    use crate::record::Header;

    fn reads(seconds: &[i64], code: u16) -> Reads {
        let read = |second: &i64| ClientRead {
            program: String::new(),
            at: Time::constant(*second, 0),
            user: "system:serviceaccount:default:mine".to_owned(),
            agent: "mine/1.0".to_owned(),
            verb: "list",
            kind: "Pod".to_owned(),
            name: String::new(),
            subresource: String::new(),
            code,
        };
        let mut reads = Reads::default();
        seconds.iter().map(read).for_each(|read| reads.add(read, Header::default().epoch));
        reads
    }

    fn check(seconds: &[i64], code: u16, limit: &RequestLimit) -> String {
        let record = Record::new(Header::default(), Vec::new());
        let counted = Counted::whole_run(&record);
        expect_few(&record, &reads(seconds, code), &counted, limit).err().unwrap_or_default()
    }

    fn limit(at_most: u32, within: Option<i64>) -> RequestLimit {
        let requests = RequestFilter { by: Some("mine".to_owned()), ..RequestFilter::default() };
        let within = within.map(SignedDuration::from_secs);
        RequestLimit { requests, refused: false, at_most, within, since: Since::Start }
    }

    #[test]
    fn a_limit_holds_for_any_time_of_its_length() {
        assert_eq!(check(&[-5, 1, 20, 39], 200, &limit(3, None)), "");
        assert!(
            check(&[1, 20, 39], 200, &limit(2, None))
                .starts_with("3 such requests, the first after 1s: list of Pod")
        );
        assert_eq!(check(&[1, 20, 39], 200, &limit(1, Some(19))), "");
        let seen = check(&[1, 20, 21, 22], 200, &limit(2, Some(10)));
        assert!(seen.starts_with("3 such requests in 10s, the first after 20s"), "{seen}");
    }

    #[test]
    fn only_requests_with_403_are_refused() {
        let none = RequestLimit { refused: true, ..limit(0, None) };
        assert_eq!(check(&[1], 404, &none), "");
        assert!(check(&[1], 403, &none).starts_with("1 such requests"));
    }
}
