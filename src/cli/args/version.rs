//! Versions of releases as values of flags.

use semver::Version;

/// Parses the version of a release.
///
/// # Errors
/// It is no version, or only a minor: the message says how to write it.
pub(super) fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| {
        let numbers: Vec<_> = text.split('.').map(str::parse::<u64>).collect();
        match numbers[..] {
            [Ok(_), Ok(_)] => {
                format!("expected a whole version such as `{text}.3`: `{text}` has no patch number")
            }
            _ => "expected a version such as `4.18.3`".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_minor_is_no_version() {
        assert_eq!(version("4.18.3"), Ok(semver::Version::new(4, 18, 3)));
        let minor = "expected a whole version such as `4.18.3`: `4.18` has no patch number";
        assert_eq!(version("4.18"), Err(minor.to_owned()));
        for text in ["", "v4.18.3", "4", "four"] {
            assert_eq!(version(text), Err("expected a version such as `4.18.3`".to_owned()), "{text}");
        }
    }
}
