//! Fuzzes the reader `strategic_patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("strategic_patch", bytes));
