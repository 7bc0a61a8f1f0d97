//! The program of the crate: tortures windtunnel for some minutes, and prints a table.

fn main() {}
