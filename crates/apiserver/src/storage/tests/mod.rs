//! Tests of the database on disk.

mod damage;
mod faults;
