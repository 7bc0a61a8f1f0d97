//! Fuzzes the reader `json_patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("json_patch", bytes));
