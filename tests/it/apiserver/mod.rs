//! The public interface of the API server: direct calls, a kube client, and exchanges recorded from a real
//! server.

mod access;
mod api_services;
pub(crate) mod apply;
mod client;
mod clock_skew;
#[cfg(feature = "serve")]
mod clocks;
mod cluster_connection;
mod control_plane;
mod conversion;
mod corpus;
mod definition_errors;
mod definitions;
mod deletions;
mod dry_run;
mod faults;
mod formats;
#[cfg(feature = "serve")]
mod https;
mod kinds;
mod lists;
mod minors;
mod mutating;
mod objects;
mod pace;
mod parity;
mod pods;
mod policies;
mod proxies;
mod quotas;
pub(crate) mod requests;
mod rule_costs;
mod rules;
mod statuses;
mod usage;
mod validation;
mod views;
mod watch_faults;
#[cfg(feature = "serve")]
mod webhook_answers;
#[cfg(feature = "serve")]
mod webhook_calls;
mod webhook_reviews;
mod webhook_waits;
mod webhooks;
