//! Tortures of windtunnel: kills, failing disks, damaged input, hostile clients, and what must survive them.

pub mod readers;
