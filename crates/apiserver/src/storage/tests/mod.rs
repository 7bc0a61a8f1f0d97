//! Tests of the database on disk.

mod damage;
mod faults;
#[cfg(unix)]
mod private;
