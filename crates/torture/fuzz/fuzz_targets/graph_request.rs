//! Fuzzes the reader `graph_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("graph_request", bytes));
