//! Fuzzes the reader `prometheus_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("prometheus_request", bytes));
