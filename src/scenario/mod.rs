//! The scenario language: YAML text in, a [`plan::Plan`] or all of its errors out. Nothing here runs anything.

pub mod plan;
