//! `kill -9` of a server that stores writes: after each restart every acknowledged write is there.

mod clients;
pub(crate) mod ledger;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::{join, join_all};
use windtunnel_conformance::player::Server;

use crate::area::Area;
use crate::clock::pause;
use crate::outcome::{Kind, Outcome};
use crate::process::{Served, add_panics};
use crate::trial::Trial;
use clients::Client;
use ledger::Ledger;

/// The number of clients that write at the same time.
const CLIENTS: usize = 6;

/// The longest time between a start and its kill, in milliseconds.
const LIFE_MS: u64 = 150;

/// The file with the stored objects in the data folder.
const DATA: &str = "windtunnel.redb";

/// Kills and restarts a server until the time is over.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let folder = trial.folder("kills")?;
    let mut killer = Killer {
        trial,
        data: folder.join("data"),
        stderr: folder.join("stderr"),
        draws: trial.draws("kills"),
        ledger: RefCell::default(),
        outcome: Outcome::new(Area::Kills),
    };
    // The first start creates the data file, and must succeed.
    drop(
        Served::start(&trial.program, Some(&killer.data), &killer.stderr)
            .map_err(|error| error.to_string())?,
    );
    while !trial.is_over() && killer.outcome.findings().is_empty() {
        killer.kill_at_start()?;
        runtime.block_on(killer.round())?;
    }
    let Killer { mut outcome, stderr, ledger, .. } = killer;
    outcome.count(ledger.borrow().acknowledged(), "acknowledged writes");
    add_panics(&mut outcome, &stderr);
    Ok(outcome)
}

/// A server that is killed again and again.
struct Killer<'a> {
    trial: &'a Trial,
    data: PathBuf,
    stderr: PathBuf,
    draws: fastrand::Rng,
    ledger: RefCell<Ledger>,
    outcome: Outcome,
}

impl Killer<'_> {
    /// Now and then kills a server that just starts.
    fn kill_at_start(&mut self) -> Result<(), String> {
        if self.draws.u8(..4) == 0 {
            let launched = Served::launch(&self.trial.program, Some(&self.data), &self.stderr);
            let mut served = launched.map_err(|error| error.to_string())?;
            pause(Duration::from_millis(self.draws.u64(..60)));
            served.kill();
            self.outcome.count(1, "kills");
        }
        Ok(())
    }

    /// Starts the server, compares it with the book, and kills it while clients write.
    async fn round(&mut self) -> Result<(), String> {
        let mut served = match Served::start(&self.trial.program, Some(&self.data), &self.stderr) {
            Ok(served) => served,
            Err(error) => {
                self.lose(&format!("after a kill: {error}"));
                return Ok(());
            }
        };
        let server = served.client()?;
        self.verify(&server).await;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| Client::new(&server, format!("c{number}"), self.draws.fork(), &self.ledger).write())
            .collect();
        let life = Duration::from_millis(self.draws.u64(..LIFE_MS));
        let ended = async {
            tokio::time::sleep(life).await;
            let ended = served.has_ended();
            served.kill();
            ended
        };
        let (ended, wrong) = join(ended, join_all(clients)).await;
        if ended {
            self.outcome.add(Kind::Wrong, "the server ended on its own");
        }
        for wrong in wrong.into_iter().flatten() {
            self.outcome.add(Kind::Wrong, wrong);
        }
        self.outcome.count(1, "kills");
        Ok(())
    }

    /// Compares the server with the book.
    async fn verify(&mut self, server: &Server) {
        let (objects, revision) = match clients::list(server).await {
            Ok(listed) => listed,
            Err(error) => return self.outcome.add(Kind::Wrong, error),
        };
        let mut lost = self.ledger.borrow_mut().check(&objects);
        lost.extend(self.ledger.borrow_mut().see(revision));
        for lost in lost {
            self.lose(&lost);
        }
    }

    /// Adds a loss, and keeps the data file.
    fn lose(&mut self, what: &str) {
        let kept = self.trial.keep(&self.data.join(DATA), &format!("kills-{}.redb", self.trial.seed));
        let kept = kept.map_or_else(|error| error, |path| path.display().to_string());
        self.outcome.add(Kind::Lost, format!("{what} (data file: {kept})"));
    }
}
