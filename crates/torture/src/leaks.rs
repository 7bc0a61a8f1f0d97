//! The same load again and again: memory and descriptors must not grow.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use windtunnel_conformance::player::Server;

use crate::area::Area;
use crate::outcome::{Kind, Outcome};
use crate::process::{Served, add_panics, usage};
use crate::trial::Trial;
use crate::wire::Watch;

/// The number of clients of a round.
const CLIENTS: usize = 4;

/// The number of objects that a client creates and deletes in a round.
const OBJECTS: usize = 50;

/// The fewest rounds of a half that can be compared.
const ROUNDS_MIN: usize = 8;

/// The growth of memory that is no leak: of a hundredth part, and of bytes.
const GROWTH_PERCENT: u64 = 10;
const GROWTH_BYTES: u64 = 8 << 20;

/// The descriptors that may be open for a moment longer.
const DESCRIPTORS: usize = 4;

/// The longest wait for the last event of a watch.
const EVENT: Duration = Duration::from_secs(20);

/// The memory and the descriptors after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    bytes: u64,
    descriptors: usize,
}

/// Repeats the load until the time is over.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let stderr = trial.folder("leaks")?.join("stderr");
    let mut served = Served::start(&trial.program, None, &stderr).map_err(|error| error.to_string())?;
    let mut outcome = Outcome::new(Area::Leaks);
    let mut samples = Vec::new();
    let mut number = 0;
    while !trial.is_over() {
        match runtime.block_on(round(&served, number)) {
            Ok(writes) => outcome.count(writes, "writes"),
            Err(error) => {
                outcome.add(Kind::Wrong, error);
                break;
            }
        }
        number += 1;
        let (bytes, descriptors) = (usage::resident(served.id()), usage::descriptors(served.id()));
        samples.extend(bytes.zip(descriptors).map(|(bytes, descriptors)| Sample { bytes, descriptors }));
    }
    if served.has_ended() {
        outcome.add(Kind::Wrong, "the server ended on its own");
    }
    outcome.count(number as u64, "rounds");
    judge(&samples, &mut outcome);
    add_panics(&mut outcome, &stderr);
    Ok(outcome)
}

/// Creates and deletes objects with several clients, beside a watch. Returns the number of writes.
async fn round(served: &Served, number: usize) -> Result<u64, String> {
    let server = served.client()?;
    let opened = Watch::open(served.authority(), "/api/v1/namespaces/default/configmaps").await;
    let mut watch = opened.map_err(|error| format!("a watch: {error}"))?;
    let clients = (0..CLIENTS).map(|client| create_and_delete(&server, client));
    for result in join_all(clients).await {
        result?;
    }
    let last = format!("last-{number}");
    write(&mut server.connect(), &last).await?;
    if !watch.read_until(&format!("\"{last}\""), EVENT).await {
        return Err(format!("a watch does not report {last} within {} s", EVENT.as_secs()));
    }
    Ok(2 * (CLIENTS * OBJECTS + 1) as u64)
}

async fn create_and_delete(server: &Server, client: usize) -> Result<(), String> {
    let mut connection = server.connect();
    for number in 0..OBJECTS {
        write(&mut connection, &format!("c{client}-{number}")).await?;
    }
    Ok(())
}

/// Creates an object and deletes it.
async fn write(
    connection: &mut windtunnel_conformance::player::Connection<'_>,
    name: &str,
) -> Result<(), String> {
    let maps = "/api/v1/namespaces/default/configmaps";
    let body = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(500) } });
    for (request, expected) in [
        (json!({ "method": "POST", "path": maps, "body": body }), 201),
        (json!({ "method": "DELETE", "path": format!("{maps}/{name}") }), 200),
    ] {
        let answer = connection.ask(&request).await;
        if answer.status != expected {
            return Err(format!(
                "{} {name} is answered with {}: {}",
                request["method"], answer.status, answer.body
            ));
        }
    }
    Ok(())
}

/// Compares the last quarter of all samples with the one before it.
fn judge(samples: &[Sample], outcome: &mut Outcome) {
    let half = &samples[samples.len() / 2..];
    let (before, after) = half.split_at(half.len() / 2);
    if before.len() < ROUNDS_MIN {
        outcome.note(format!("{} rounds are too few to compare", samples.len()));
        return;
    }
    let mean =
        |samples: &[Sample]| samples.iter().map(|sample| sample.bytes).sum::<u64>() / samples.len() as u64;
    let most = |samples: &[Sample]| samples.iter().map(|sample| sample.descriptors).max().unwrap_or(0);
    let (bytes, descriptors) = ((mean(before), mean(after)), (most(before), most(after)));
    let text = format!(
        "memory of the third and the last quarter: {} and {} MiB, descriptors: {} and {}",
        usage::mebibytes(bytes.0),
        usage::mebibytes(bytes.1),
        descriptors.0,
        descriptors.1
    );
    let allowed = (bytes.0 / 100 * GROWTH_PERCENT).max(GROWTH_BYTES);
    if bytes.1 > bytes.0 + allowed || descriptors.1 > descriptors.0 + DESCRIPTORS {
        outcome.add(Kind::Growth, text);
    } else {
        outcome.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(bytes: impl Fn(u64) -> u64, descriptors: impl Fn(u64) -> usize) -> (usize, usize) {
        let sample = |number| Sample { bytes: bytes(number), descriptors: descriptors(number) };
        let samples: Vec<Sample> = (0..80).map(sample).collect();
        let mut outcome = Outcome::new(Area::Leaks);
        judge(&samples, &mut outcome);
        (outcome.number(Kind::Growth), outcome.notes().len())
    }

    #[test]
    fn growth_in_the_second_half_is_a_leak_and_growth_before_it_is_not() {
        assert_eq!(judged(|_| 100 << 20, |_| 10), (0, 1));
        assert_eq!(judged(|number| number.min(40) << 20, |_| 10), (0, 1));
        assert_eq!(judged(|number| number << 20, |_| 10), (1, 0));
        assert_eq!(judged(|_| 100 << 20, |number| usize::try_from(number).unwrap()), (1, 0));
    }
}
