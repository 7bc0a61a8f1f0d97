//! Measures the speed of runs and of the API server on this machine. `cargo bench` prints a table;
//! docs/performance.md says how to read it.
//!
//! This is a plain `main`: a measurement takes milliseconds up to a second, so medians of a few rounds
//! suffice, and the wanted figures are ratios and rates, not only times. Words after `--` select sections by
//! name; `--rounds N` sets the rounds of each line; `--against URL --token TOKEN` also measures another API
//! server over HTTPS.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod apiserver;
#[cfg(feature = "serve")]
mod https;
mod insights;
mod measure;
mod nodes;
mod parts;
mod payload;
mod run;

use measure::Table;

/// The allocator of the program.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Section = (&'static str, fn(&mut Table) -> Result<(), String>);

const SECTIONS: &[Section] = &[
    ("memory", apiserver::memory),
    ("run", run::measure),
    ("nodes", nodes::measure),
    ("insights", insights::measure),
    ("parts", parts::measure),
    ("payload", payload::measure),
    ("apiserver", apiserver::measure),
    #[cfg(feature = "serve")]
    ("https", https::measure),
];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench`, `cargo test --all-targets` is the caller, which only checks that everything works.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if let Some(nodes) = option(insights::RESIDENT) {
        return insights::resident(nodes.parse().map_err(|_| "--resident takes a number")?);
    }
    let (url, token, rounds) = (option("--against"), option("--token"), option("--rounds"));
    let is_value =
        |argument: &String| [&url, &token, &rounds].iter().any(|value| value.as_ref() == Some(argument));
    let wanted: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with('-') && !is_value(argument)).collect();
    let rounds = rounds.as_deref().map(str::parse).transpose();
    let rounds =
        rounds.map_err(|_| "--rounds takes a number")?.unwrap_or(if is_bench { measure::ROUNDS } else { 1 });
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let mut table = Table::new(name, rounds, !is_bench);
            #[cfg(feature = "serve")]
            if let Some(url) = url.clone() {
                table.against = Some(https::Against { url, token: token.clone().unwrap_or_default() });
            }
            measure(&mut table)?;
            println!("{}", table.text());
        }
    }
    Ok(())
}
