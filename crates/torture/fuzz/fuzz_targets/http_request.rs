//! Fuzzes the reader `http_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("http_request", bytes));
