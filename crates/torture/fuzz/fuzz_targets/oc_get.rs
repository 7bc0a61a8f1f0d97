//! Fuzzes the reader `oc_get`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("oc_get", bytes));
