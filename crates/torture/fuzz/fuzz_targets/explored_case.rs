//! Fuzzes the reader `explored_case`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("explored_case", bytes));
