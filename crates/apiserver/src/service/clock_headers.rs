//! Response headers with the server's clock: its time in `Date`, and its speed relative to the wall clock.

use http::header::{DATE, HeaderMap, HeaderName, HeaderValue};
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use windtunnel_core::clock::Time;

/// The speed: seconds on the server's clock per second of the wall clock. Only responses of simulated clusters have it.
const SPEED: HeaderName = HeaderName::from_static("x-windtunnel-speed");

/// Writes the time of a response, and the speed of the server's clock unless it is 1.
pub(crate) fn write(headers: &mut HeaderMap, now: Time, speed: f64) {
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    // The format cannot represent years of more than four digits.
    if let Some(date) = date.ok().and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(DATE, date);
    }
    if (speed - 1.0).abs() > f64::EPSILON
        && let Ok(value) = HeaderValue::try_from(speed.to_string())
    {
        headers.insert(SPEED, value);
    }
}

/// The time of a response and the speed of its server's clock; `None` without a `Date`.
pub fn read(headers: &HeaderMap) -> Option<(Time, f64)> {
    let now = DateTimeParser::new().parse_timestamp(headers.get(DATE)?.as_bytes()).ok()?;
    let speed = headers.get(SPEED).and_then(|value| value.to_str().ok()?.parse().ok());
    let speed = speed.filter(|speed: &f64| speed.is_finite() && *speed >= 0.0);
    Some((now, speed.unwrap_or(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: &str, speed: f64, date: Option<&str>, header: Option<&str>) {
        let mut headers = HeaderMap::new();
        write(&mut headers, now.parse().unwrap(), speed);
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((text(DATE), text(SPEED)), (date, header));
        let whole: Time = now.parse().unwrap();
        let whole = Time::from_second(whole.as_second()).unwrap();
        assert_eq!(read(&headers), date.map(|_| (whole, speed)));
    }

    #[test]
    fn read_returns_the_written_clock() {
        let date = Some("Mon, 15 Jan 2024 08:00:05 GMT");
        check("2024-01-15T08:00:05.9Z", 1.0, date, None);
        check("2024-01-15T08:00:05Z", 60.0, date, Some("60"));
        check("2024-01-15T08:00:05Z", 0.01, date, Some("0.01"));
        check("2024-01-15T08:00:05Z", 0.0, date, Some("0"));
        check("-000001-01-15T08:00:05Z", 2.0, None, Some("2"));
    }

    #[test]
    fn invalid_speed_is_read_as_1() {
        for text in ["fast", "NaN", "-1", "inf"] {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, HeaderValue::from_static("Mon, 15 Jan 2024 08:00:05 GMT"));
            headers.insert(SPEED, HeaderValue::from_static(text));
            assert_eq!(read(&headers).map(|(_, speed)| speed), Some(1.0), "{text}");
        }
        assert_eq!(read(&HeaderMap::new()), None);
    }
}
