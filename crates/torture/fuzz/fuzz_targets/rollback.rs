//! Fuzzes the reader `rollback`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windtunnel_torture::readers::read("rollback", bytes));
