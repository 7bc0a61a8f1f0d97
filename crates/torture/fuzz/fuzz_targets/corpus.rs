//! Fuzzes the reader `corpus`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("corpus", bytes));
