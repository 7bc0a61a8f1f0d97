//! The areas, and their shares of the time.

use std::time::Duration;

/// A way to break windtunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// Files and streams that fill the memory or never end, read by the program.
    Bombs,
    /// `kill -9` of a server that stores writes.
    Kills,
    /// Disks that fail at each of their operations.
    Disks,
    /// Clients that break the protocol or the server.
    Clients,
    /// The same load again and again.
    Leaks,
    /// Damaged inputs of all readers.
    Inputs,
}

impl Area {
    /// All areas in the order of a run. The last one uses the time that the others leave.
    pub const ALL: [Self; 6] =
        [Self::Bombs, Self::Kills, Self::Disks, Self::Clients, Self::Leaks, Self::Inputs];

    /// The name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bombs => "bombs",
            Self::Kills => "kills",
            Self::Disks => "disks",
            Self::Clients => "clients",
            Self::Leaks => "leaks",
            Self::Inputs => "inputs",
        }
    }

    /// The area with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// Its part of the time, compared with the other areas.
    fn weight(self) -> u32 {
        match self {
            Self::Bombs | Self::Leaks => 2,
            Self::Disks | Self::Clients => 3,
            Self::Kills => 4,
            Self::Inputs => 6,
        }
    }
}

/// The time of the first of some areas, if `left` is the time of all of them.
pub fn share(areas: &[Area], left: Duration) -> Duration {
    let all: u32 = areas.iter().map(|area| area.weight()).sum();
    areas.first().map_or(Duration::ZERO, |first| left * first.weight() / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_areas_share_all_of_the_time_and_the_last_one_gets_the_rest() {
        let minute = Duration::from_secs(60);
        let mut left = minute;
        for index in 0..Area::ALL.len() {
            let own = share(&Area::ALL[index..], left);
            assert!(own > Duration::ZERO);
            left -= own;
        }
        assert_eq!(left, Duration::ZERO);
        assert_eq!(share(&[Area::Bombs], minute), minute);
    }

    #[test]
    fn every_area_is_found_by_its_name() {
        for area in Area::ALL {
            assert_eq!(Area::parse(area.name()), Some(area));
        }
        assert_eq!(Area::parse("none"), None);
    }
}
