//! Fuzzes the reader `graph_data`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("graph_data", bytes));
