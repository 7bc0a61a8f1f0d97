//! Fuzzes the reader `merge_patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("merge_patch", bytes));
