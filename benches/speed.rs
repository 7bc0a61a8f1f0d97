//! Speed on this machine: how fast runs go, and how fast the API server answers. `cargo bench` prints a table;
//! docs/performance.md says how to read it.
//!
//! A plain `main`: what is measured takes milliseconds up to a second, so medians of a few rounds say it all, and the
//! figures wanted are ratios and rates, not only times. Words after `--` choose sections by name.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod apiserver;
#[cfg(feature = "serve")]
mod https;
mod measure;
mod parts;
mod run;

use measure::Table;

type Section = (&'static str, fn(&mut Table) -> Result<(), String>);

const SECTIONS: [Section; 4] = [
    ("memory", apiserver::memory),
    ("run", run::measure),
    ("parts", parts::measure),
    ("apiserver", apiserver::measure),
];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` it is `cargo test --all-targets` that calls: then it matters only that everything works.
    let rounds = if arguments.iter().any(|argument| argument == "--bench") { measure::ROUNDS } else { 1 };
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|word| *word == name) {
            let mut table = Table::new(name, rounds);
            measure(&mut table)?;
            println!("{}", table.text());
        }
    }
    #[cfg(feature = "serve")]
    if wanted.iter().any(|word| *word == "https") {
        let mut table = Table::new("https", 1);
        https::measure(&mut table, &arguments)?;
        println!("{}", table.text());
    }
    Ok(())
}
