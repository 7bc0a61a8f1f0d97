//! The clock of a cluster, from the `Date` header of its answers. It may differ from the local clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Response};
use jiff::SignedDuration;
use kube::client::{ClientBuilder, DynBody};
use kube::{Client, Config};
use tower::util::MapResponseLayer;
use windtunnel_apiserver::service::clock_headers;
use windtunnel_core::clock::{Clock, ScaledClock, Time, WallClock, after};

/// An answer that is later than this by the wall clock shows that the server's clock was set back.
const LATE: SignedDuration = SignedDuration::from_mins(1);

/// Returns a client for a cluster, and the clock that its answers show.
///
/// # Errors
/// The configuration is invalid.
pub(in crate::cli) fn client(config: Config) -> kube::Result<(Client, Arc<ServerClock>)> {
    let clock = Arc::new(ServerClock::default());
    let hearing = Arc::clone(&clock);
    let layer = MapResponseLayer::new(move |response: Response<Box<DynBody>>| {
        hearing.hear(response.headers());
        response
    });
    Ok((ClientBuilder::try_from(config)?.with_layer(&layer).build(), clock))
}

/// The clock of a server. It advances between answers; before the first `Date` header it is the local clock.
#[derive(Debug, Default)]
pub(in crate::cli) struct ServerClock(Mutex<Option<ScaledClock>>);

impl ServerClock {
    fn shown(&self) -> MutexGuard<'_, Option<ScaledClock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, headers: &HeaderMap) {
        let Some((date, speed)) = clock_headers::read(headers) else { return };
        let heard = ScaledClock::starting_at(date, speed);
        let heard = if speed > 0.0 { heard } else { heard.ending_at(date) };
        let mut shown = self.shown();
        if shown.is_none_or(|shown| is_better(&heard, &shown)) {
            *shown = Some(heard);
        }
    }
}

/// Returns whether an answer corrects the clock of earlier ones. A `Date` has whole seconds and arrives with
/// a delay, so the clock that is furthest ahead is the most accurate.
fn is_better(heard: &ScaledClock, shown: &ScaledClock) -> bool {
    let (now, speed) = (shown.now(), shown.speed());
    let late = SignedDuration::try_from_secs_f64(LATE.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX);
    (heard.speed() - speed).abs() > f64::EPSILON || heard.now() > now || heard.now() < after(now, -late)
}

impl Clock for ServerClock {
    fn now(&self) -> Time {
        self.shown().map_or_else(|| WallClock.now(), |clock| clock.now())
    }

    fn speed(&self) -> f64 {
        self.shown().map_or(1.0, |clock| clock.speed())
    }

    fn until(&self, at: Time) -> Duration {
        self.shown().map_or_else(|| WallClock.until(at), |clock| clock.until(at))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn hear(clock: &ServerClock, date: &'static str, speed: &'static str) {
        let mut headers = HeaderMap::new();
        headers.insert("date", HeaderValue::from_static(date));
        headers.insert("x-windtunnel-speed", HeaderValue::from_static(speed));
        clock.hear(&headers);
    }

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn uses_the_local_clock_before_an_answer() {
        let clock = ServerClock::default();
        clock.hear(&HeaderMap::new());
        let (before, now, past) = (WallClock.now(), clock.now(), WallClock.now());
        assert!(before <= now && now <= past);
    }

    #[test]
    fn a_stopped_clock_shows_the_time_of_the_last_answer() {
        let clock = ServerClock::default();
        for date in ["Mon, 15 Jan 2024 08:00:05 GMT", "Mon, 15 Jan 2024 08:00:01 GMT"] {
            hear(&clock, date, "0");
        }
        assert_eq!((clock.now(), clock.speed()), (at("2024-01-15T08:00:01Z"), 0.0));
        assert_eq!(clock.until(at("2024-01-15T08:00:02Z")), Duration::MAX);
    }

    #[test]
    fn a_delayed_answer_does_not_set_a_running_clock_back() {
        let clock = ServerClock::default();
        hear(&clock, "Mon, 15 Jan 2024 10:00:00 GMT", "60");
        hear(&clock, "Mon, 15 Jan 2024 09:30:00 GMT", "60");
        assert!(clock.now() >= at("2024-01-15T10:00:00Z"));
        assert!(clock.until(at("2024-01-15T11:00:00Z")) <= Duration::from_mins(1));
        hear(&clock, "Mon, 15 Jan 2024 08:00:00 GMT", "60");
        assert!(clock.now() < at("2024-01-15T10:00:00Z"), "it was set back");
        hear(&clock, "Mon, 15 Jan 2024 12:00:00 GMT", "60");
        assert!(clock.now() >= at("2024-01-15T12:00:00Z"));
    }
}
