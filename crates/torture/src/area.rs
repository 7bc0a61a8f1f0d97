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
}

impl Area {
    /// All areas in the order of a run. The last one uses the time that the others leave.
    pub const ALL: [Self; 5] = [Self::Bombs, Self::Kills, Self::Disks, Self::Clients, Self::Leaks];

    /// The name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bombs => "bombs",
            Self::Kills => "kills",
            Self::Disks => "disks",
            Self::Clients => "clients",
            Self::Leaks => "leaks",
        }
    }

    /// The area with this name.
    ///
    /// # Errors
    /// There is none; with the names to write, or with the new place of a former area.
    pub fn parse(name: &str) -> Result<Self, String> {
        if name == "inputs" {
            return Err(
                "damaged inputs are tests now: run `WINDTUNNEL_FUZZ_SECONDS=60 cargo test -p windtunnel \
                        --test it fuzz::readers -- --nocapture`"
                    .to_owned(),
            );
        }
        let found = Self::ALL.into_iter().find(|area| area.name() == name);
        found.ok_or_else(|| format!("write {}", Self::ALL.map(Self::name).join(", ")))
    }

    /// Its part of the time, compared with the other areas.
    fn weight(self) -> u32 {
        match self {
            Self::Bombs | Self::Leaks => 2,
            Self::Disks | Self::Clients => 3,
            Self::Kills => 4,
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
            assert_eq!(Area::parse(area.name()), Ok(area));
        }
        assert!(Area::parse("none").unwrap_err().ends_with("clients, leaks"));
        assert!(Area::parse("inputs").unwrap_err().contains("fuzz::readers"));
    }
}
