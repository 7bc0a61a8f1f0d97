//! `windtunnel clock`: reads and changes the clock of a served cluster.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::text::{error_chain, parse_duration, short_duration};
use windtunnel_openshift::oc::CommandOutput;

use super::args::{ClockArgs, ClockChange};
use super::live::client::{client, failure};
use super::live::connection::Connection;
use super::live::{block_on, client_error};
use super::{Exit, print_client_output};

const PATH: &str = "/windtunnel/clock";

/// The polling interval while a clock advances.
const POLL: Duration = Duration::from_millis(100);

/// Prints the clock of a cluster, after a change if there is one.
///
/// # Errors
/// The change is invalid, or no request can be sent.
pub(super) fn clock(args: &ClockArgs) -> Result<Exit, String> {
    let change = args.change.as_ref().map(body).transpose()?;
    let connection = Connection::new(args.kubeconfig.as_deref(), args.context.as_deref());
    let output = block_on(change_clock(&connection, change))?.unwrap_or_else(|error| error);
    Ok(print_client_output(&output))
}

/// Returns the body of the request for a change.
fn body(change: &ClockChange) -> Result<Value, String> {
    Ok(match change {
        ClockChange::Pause => json!({ "paused": true }),
        ClockChange::Resume => json!({ "paused": false }),
        ClockChange::Speed { factor } => json!({ "speed": factor }),
        ClockChange::Jump { to } if to.parse::<Time>().is_ok() => json!({ "time": to }),
        ClockChange::Jump { to } if parse_duration(to).is_some() => json!({ "advance": to }),
        ClockChange::Jump { to } => {
            let expected = "expected a duration such as `2h`, or a time such as `2026-05-01T12:00:00Z`";
            return Err(format!("jump: {expected}, found `{to}`"));
        }
    })
}

async fn change_clock(
    connection: &Connection,
    change: Option<Value>,
) -> Result<CommandOutput, CommandOutput> {
    let config = connection.config().await?;
    let client = client(config).map_err(|error| client_error(&error_chain(&error)))?;
    let mut state = match change {
        Some(change) => send(&client, Method::PATCH, change.to_string()).await?,
        None => send(&client, Method::GET, String::new()).await?,
    };
    while state["advancingTo"].is_string() {
        tokio::time::sleep(POLL).await;
        state = send(&client, Method::GET, String::new()).await?;
    }
    Ok(CommandOutput { stdout: describe(&state), ..CommandOutput::default() })
}

async fn send(client: &Client, method: Method, body: String) -> Result<Value, CommandOutput> {
    let request = Request::builder().method(method).uri(PATH).header("Content-Type", "application/json");
    let request = request.body(body.into_bytes()).map_err(|error| client_error(&error.to_string()))?;
    client.request(request).await.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 404 => client_error(
            "this cluster has no clock to change; `windtunnel serve --version`, `serve --scenario` and `run --until TIME \
             --serve` serve clusters that have one",
        ),
        kube::Error::Api(status) => client_error(&status.message),
        error => client_error(&failure(&error)),
    })
}

/// Returns the lines about a clock.
fn describe(state: &Value) -> String {
    let moment = |field: &str| state[field].as_str().and_then(|text| text.parse::<Time>().ok());
    let (Some(now), Some(machine)) = (moment("time"), moment("machineTime")) else {
        return format!("{state}\n");
    };
    let speed = state["speed"].as_f64().unwrap_or(1.0);
    let behind = machine.duration_since(now);
    let whole = |seconds: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "a span of two times in seconds")]
        short_duration(jiff::SignedDuration::from_secs(seconds.round() as i64))
    };
    let is_paused = state["paused"] == true;
    let pace = if is_paused { "paused, " } else { "" };
    let meets = if speed > 1.0 && !is_paused && behind.as_secs() > 0 {
        let wait = whole(behind.as_secs_f64() / (speed - 1.0));
        format!("; it catches up with the server's machine in {wait}")
    } else {
        String::new()
    };
    format!(
        "time    {}\nspeed   {pace}{speed}x\nbehind  {}{meets}\n",
        rfc3339(now),
        whole(behind.as_secs_f64())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(speed: f64, paused: bool) -> Value {
        let (time, machine) = ("2026-05-01T12:00:00.123Z", "2026-05-31T12:00:00.123456Z");
        json!({ "time": time, "machineTime": machine, "speed": speed, "paused": paused })
    }

    #[test]
    fn the_clock_is_described_with_its_distance_from_the_machine() {
        let fast = "time    2026-05-01T12:00:00Z\nspeed   60x\n\
                    behind  720h; it catches up with the server's machine in 12h12m12s\n";
        assert_eq!(describe(&state(60.0, false)), fast);
        let paused = "time    2026-05-01T12:00:00Z\nspeed   paused, 60x\nbehind  720h\n";
        assert_eq!(describe(&state(60.0, true)), paused);
        assert!(describe(&state(0.5, false)).contains("speed   0.5x\n"));
    }

    #[test]
    fn a_jump_is_a_duration_or_a_time() {
        let jump = |to: &str| body(&ClockChange::Jump { to: to.to_owned() });
        assert_eq!(jump("2h"), Ok(json!({ "advance": "2h" })));
        assert_eq!(jump("2026-05-01T12:00:00Z"), Ok(json!({ "time": "2026-05-01T12:00:00Z" })));
        assert!(jump("soon").unwrap_err().ends_with("found `soon`"));
    }
}
