//! Fuzzes the reader `dump`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("dump", bytes));
