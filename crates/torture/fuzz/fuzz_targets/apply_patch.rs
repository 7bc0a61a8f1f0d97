//! Fuzzes the reader `apply_patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("apply_patch", bytes));
