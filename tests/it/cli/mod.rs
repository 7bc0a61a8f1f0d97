//! The program as users see it: its output, files and exit codes.

#[cfg(all(feature = "live", feature = "serve"))]
mod adm;
mod authoring;
#[cfg(all(feature = "live", feature = "serve", feature = "gherkin"))]
pub(crate) mod backends;
#[cfg(feature = "gherkin")]
mod both_languages;
mod check;
mod custom_kinds;
mod dump;
pub(crate) mod environment;
#[cfg(feature = "serve")]
mod envtest;
mod expected_texts;
mod explore;
#[cfg(feature = "gherkin")]
mod features;
mod held_before;
mod help;
mod hostile_text;
mod html;
mod idle_faults;
mod input;
#[cfg(all(feature = "live", feature = "serve"))]
mod insight_producers;
#[cfg(all(feature = "live", feature = "serve"))]
mod insights;
#[cfg(unix)]
mod interactive_run;
mod junit;
mod leader;
#[cfg(all(feature = "live", feature = "serve"))]
mod live_records;
mod mistakes;
mod mutate;
mod naming;
#[cfg(unix)]
mod outputs;
mod payloads;
#[cfg(unix)]
pub(crate) mod places;
mod program_checks;
mod program_probes;
mod program_rights;
mod programs;
mod published;
mod python_controller;
mod records;
#[cfg(unix)]
mod rehearse;
mod replaced_files;
mod reports;
mod restored;
mod risks;
mod rollback_pairs;
mod scenarios;
#[cfg(all(unix, feature = "serve", feature = "gherkin"))]
mod scripts;
mod secrets;
#[cfg(feature = "serve")]
pub(crate) mod serve;
#[cfg(unix)]
mod standard_streams;
mod start_from;
mod status;
#[cfg(all(unix, feature = "gherkin", feature = "serve"))]
mod strangers;
mod sweep;
mod terminal;
mod traces;
mod unmet;
mod whole_run;
