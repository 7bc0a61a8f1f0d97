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

use super::client::name_server;

/// An answer that is later than this by the wall clock shows that the server's time passes more slowly than its speed.
const LATE: SignedDuration = SignedDuration::from_secs(5);

/// Returns a client for a cluster, and the clock that its answers show.
///
/// # Errors
/// The configuration is invalid.
pub(in crate::cli) fn client(config: Config) -> kube::Result<(Client, Arc<ServerClock>)> {
    let clock = Arc::new(ServerClock::default());
    let observer = Arc::clone(&clock);
    let layer = MapResponseLayer::new(move |response: Response<Box<DynBody>>| {
        observer.observe(response.headers());
        response
    });
    let name_server = name_server(&config);
    Ok((ClientBuilder::try_from(config)?.with_layer(&layer).with_layer(&name_server).build(), clock))
}

/// The clock of a server. It advances between answers; before the first `Date` header it is the local clock.
#[derive(Debug, Default)]
pub(in crate::cli) struct ServerClock(Mutex<Option<ScaledClock>>);

impl ServerClock {
    fn current(&self) -> MutexGuard<'_, Option<ScaledClock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, headers: &HeaderMap) {
        let Some((date, speed)) = clock_headers::read(headers) else { return };
        let observed = ScaledClock::starting_at(date, speed);
        let observed = if speed > 0.0 { observed } else { observed.ending_at(date) };
        let mut current = self.current();
        if current.is_none_or(|current| is_better(&observed, &current)) {
            *current = Some(observed);
        }
    }
}

/// Returns whether an answer corrects the clock of earlier ones. A `Date` has whole seconds and arrives with
/// a delay, so the clock that is furthest ahead is the most accurate.
fn is_better(observed: &ScaledClock, current: &ScaledClock) -> bool {
    let (now, speed) = (current.now(), current.speed());
    let late = SignedDuration::try_from_secs_f64(LATE.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX);
    (observed.speed() - speed).abs() > f64::EPSILON
        || observed.now() > now
        || observed.now() < after(now, -late)
}

impl Clock for ServerClock {
    fn now(&self) -> Time {
        self.current().map_or_else(|| WallClock.now(), |clock| clock.now())
    }

    fn speed(&self) -> f64 {
        self.current().map_or(1.0, |clock| clock.speed())
    }

    fn until(&self, at: Time) -> Duration {
        self.current().map_or_else(|| WallClock.until(at), |clock| clock.until(at))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn observe(clock: &ServerClock, date: &'static str, speed: &'static str) {
        let mut headers = HeaderMap::new();
        headers.insert("date", HeaderValue::from_static(date));
        headers.insert("x-windtunnel-speed", HeaderValue::from_static(speed));
        clock.observe(&headers);
    }

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn uses_the_local_clock_before_an_answer() {
        let clock = ServerClock::default();
        clock.observe(&HeaderMap::new());
        let (before, now, past) = (WallClock.now(), clock.now(), WallClock.now());
        assert!(before <= now && now <= past);
    }

    #[test]
    fn a_stopped_clock_shows_the_time_of_the_last_answer() {
        let clock = ServerClock::default();
        for date in ["Mon, 15 Jan 2024 08:00:05 GMT", "Mon, 15 Jan 2024 08:00:01 GMT"] {
            observe(&clock, date, "0");
        }
        assert_eq!((clock.now(), clock.speed()), (at("2024-01-15T08:00:01Z"), 0.0));
        assert_eq!(clock.until(at("2024-01-15T08:00:02Z")), Duration::MAX);
    }

    #[test]
    fn a_delayed_answer_does_not_set_a_running_clock_back() {
        let clock = ServerClock::default();
        observe(&clock, "Mon, 15 Jan 2024 10:00:00 GMT", "60");
        observe(&clock, "Mon, 15 Jan 2024 09:58:00 GMT", "60");
        assert!(clock.now() >= at("2024-01-15T10:00:00Z"));
        assert!(clock.until(at("2024-01-15T11:00:00Z")) <= Duration::from_mins(1));
        observe(&clock, "Mon, 15 Jan 2024 09:50:00 GMT", "60");
        assert!(clock.now() < at("2024-01-15T10:00:00Z"), "the server is late");
        observe(&clock, "Mon, 15 Jan 2024 12:00:00 GMT", "60");
        assert!(clock.now() >= at("2024-01-15T12:00:00Z"));
    }
}
