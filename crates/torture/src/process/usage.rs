//! The memory and the descriptors of a process, as `/proc` shows them.

use std::fs;

/// The memory of a process at the moment, in bytes. `None` if the process ended or the system has no `/proc`.
pub(crate) fn resident(id: u32) -> Option<u64> {
    field(id, "VmRSS:")
}

/// The highest memory that a process had, in bytes.
pub(crate) fn peak(id: u32) -> Option<u64> {
    field(id, "VmHWM:")
}

/// The number of open descriptors.
pub(crate) fn descriptors(id: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{id}/fd")).ok()?.count())
}

fn field(id: u32, name: &str) -> Option<u64> {
    parse(&fs::read_to_string(format!("/proc/{id}/status")).ok()?, name)
}

/// A field in kB of `/proc/ID/status`, in bytes.
fn parse(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Bytes as MiB, rounded up.
pub(crate) fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_number_of_kilobytes() {
        let status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n";
        assert_eq!(parse(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(parse(status, "VmSwap:"), None);
        assert_eq!(mebibytes((1 << 20) + 1), 2);
    }
}
