//! Hostile clients beside an honest one: the honest one gets answers, and the server neither ends nor grows.

mod http1;
mod http2;
mod writes;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::timeout;
use windtunnel_conformance::player::{Connection, Server};

use crate::area::Area;
use crate::clock::{Stopwatch, pause};
use crate::outcome::{Kind, Outcome};
use crate::process::{Served, add_panics, usage};
use crate::trial::Trial;

/// The number of hostile clients at a time.
const HOSTILE: usize = 48;

/// The longest attack of a hostile client.
const ATTACK: Duration = Duration::from_secs(5);

/// The longest wait of the honest client for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The most memory of the server, in bytes.
const MEMORY_MAX: u64 = 768 << 20;

/// The time in which the server must close the connections of clients that are gone.
const CLOSE: Duration = Duration::from_secs(30);

/// The descriptors that may stay open, such as that of the honest client.
const DESCRIPTORS: usize = 4;

/// The time between two looks.
const PACE: Duration = Duration::from_millis(20);

/// A hostile client.
#[derive(Debug, Clone, Copy)]
enum Attack {
    Http1(http1::Attack),
    Http2(http2::Attack),
    LargeWrite,
}

fn attacks() -> Vec<Attack> {
    let first = http1::Attack::ALL.into_iter().map(Attack::Http1);
    first.chain(http2::Attack::ALL.into_iter().map(Attack::Http2)).chain([Attack::LargeWrite]).collect()
}

impl Attack {
    async fn run(self, authority: &str, server: &Server, draws: &mut fastrand::Rng) -> std::io::Result<()> {
        match self {
            Self::Http1(attack) => attack.run(authority, draws).await,
            Self::Http2(attack) => attack.run(authority, draws).await,
            Self::LargeWrite => {
                writes::run(server, draws).await;
                Ok(())
            }
        }
    }
}

/// The observations while clients run.
#[derive(Debug, Default)]
struct Watched {
    answers: u64,
    slowest: Duration,
    peak: u64,
    wrong: Vec<(Kind, String)>,
}

fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

/// Attacks a server until the time is over.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let stderr = trial.folder("clients")?.join("stderr");
    let mut served = Served::start(&trial.program, None, &stderr).map_err(|error| error.to_string())?;
    let server = served.client()?;
    let mut outcome = Outcome::new(Area::Clients);
    let (over, attacks) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = usage::descriptors(served.id()).unwrap_or_default();
    // The hostile clients have a thread of their own, so that they do not delay the honest one.
    let watched = thread::scope(|scope| {
        let attacking = scope.spawn(|| attack(trial, served.authority(), &server, &over, &attacks));
        let watched = watch(trial, &served, &server);
        over.store(true, Ordering::Relaxed);
        let attacked = attacking.join().unwrap_or_else(|_| Err("the hostile clients panicked".to_owned()));
        attacked.and(watched)
    })?;
    outcome.count(attacks.into_inner(), "attacks");
    report(watched, &mut outcome);
    if let Err(text) = await_descriptors(&served, before) {
        outcome.add(Kind::Growth, text);
    }
    if served.has_ended() {
        outcome.add(Kind::Wrong, "the server ended on its own");
    }
    add_panics(&mut outcome, &stderr);
    Ok(outcome)
}

fn report(watched: Watched, outcome: &mut Outcome) {
    outcome.count(watched.answers, "answers to the honest client");
    outcome.note(format!(
        "most memory: {} MiB, slowest answer: {} ms",
        usage::mebibytes(watched.peak),
        watched.slowest.as_millis()
    ));
    for (kind, text) in watched.wrong {
        outcome.add(kind, text);
    }
}

/// Runs hostile clients until the honest one has seen enough.
fn attack(
    trial: &Trial,
    authority: &str,
    server: &Server,
    over: &AtomicBool,
    count: &AtomicU64,
) -> Result<(), String> {
    let attacks = attacks();
    let mut draws = trial.draws("clients");
    runtime()?.block_on(async {
        let mut running = JoinSet::new();
        while !over.load(Ordering::Relaxed) {
            while running.len() < HOSTILE {
                let (attack, mut draws) = (attacks[draws.usize(..attacks.len())], draws.fork());
                let (authority, server, span) = (authority.to_owned(), server.clone(), trial.at_most(ATTACK));
                running.spawn(async move {
                    // A hostile client gets errors.
                    let _ = timeout(span, attack.run(&authority, &server, &mut draws)).await;
                });
                count.fetch_add(1, Ordering::Relaxed);
            }
            while running.try_join_next().is_some() {}
            tokio::time::sleep(PACE).await;
        }
        running.shutdown().await;
    });
    Ok(())
}

/// Asks as an honest client, and watches the memory of the server.
fn watch(trial: &Trial, served: &Served, server: &Server) -> Result<Watched, String> {
    let runtime = runtime()?;
    let mut watched = Watched::default();
    let mut honest = server.connect();
    while !trial.is_over() && watched.wrong.is_empty() {
        runtime.block_on(answer(&mut honest, &mut watched));
        watched.peak = watched.peak.max(usage::resident(served.id()).unwrap_or_default());
        if watched.peak > MEMORY_MAX {
            let (peak, limit) = (usage::mebibytes(watched.peak), usage::mebibytes(MEMORY_MAX));
            watched.wrong.push((Kind::Growth, format!("the server has {peak} MiB, more than {limit}")));
        }
        pause(PACE);
    }
    Ok(watched)
}

/// Creates, gets and deletes an object as an honest client.
async fn answer(honest: &mut Connection<'_>, watched: &mut Watched) {
    let maps = "/api/v1/namespaces/default/configmaps";
    let body = json!({ "metadata": { "name": "honest" }, "data": { "k": "x".repeat(2000) } });
    let path = format!("{maps}/honest");
    for (request, expected) in [
        (json!({ "method": "POST", "path": maps, "body": body }), 201),
        (json!({ "path": path }), 200),
        (json!({ "method": "DELETE", "path": path }), 200),
    ] {
        let watch = Stopwatch::start();
        let answer = timeout(ANSWER, honest.ask(&request)).await;
        watched.slowest = watched.slowest.max(watch.elapsed());
        match answer {
            Ok(answer) if answer.status == expected => watched.answers += 1,
            Ok(answer) => {
                let text = format!("the honest client gets {}: {}", answer.status, answer.body);
                return watched.wrong.push((Kind::Wrong, text));
            }
            Err(_) => {
                let text = format!("the honest client gets no answer within {} s", ANSWER.as_secs());
                return watched.wrong.push((Kind::Hang, text));
            }
        }
    }
}

/// Waits until the server has as many descriptors as before.
fn await_descriptors(served: &Served, before: usize) -> Result<(), String> {
    let watch = Stopwatch::start();
    loop {
        let now = usage::descriptors(served.id()).unwrap_or_default();
        if now <= before + DESCRIPTORS {
            return Ok(());
        }
        if watch.elapsed() > CLOSE {
            return Err(format!(
                "the server has {now} descriptors {} s after the clients are gone, {before} before",
                CLOSE.as_secs()
            ));
        }
        pause(PACE);
    }
}
