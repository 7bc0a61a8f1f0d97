//! The commits of Kubernetes releases. `kubectl --match-server-version` compares the server's commit with its own.

/// Versions and their commits.
const COMMITS: [(&str, &str); 14] = [
    ("v1.23.0", "ab69524f795c42094a6630298ff53f3c3ebab7f4"),
    ("v1.24.0", "4ce5a8954017644c5420bae81d72b09b735c21f0"),
    ("v1.25.0", "a866cbe2e5bbaa01cfd5e969aa3e033f3282a8a2"),
    ("v1.26.0", "b46a3f887ca979b1a5d14fd39cb1af43e7e5d12d"),
    ("v1.27.0", "1b4df30b3cdfeaba6024e81e559a6cd09a089d65"),
    ("v1.28.0", "855e7c48de7388eb330da0f8d9d2394ee818fb8d"),
    ("v1.29.0", "3f7a50f38688eb332e2a1b013678c6435d539ae6"),
    ("v1.30.0", "7c48c2bd72b9bf5c44d21d7338cc7bea77d0ad2a"),
    ("v1.31.0", "9edcffcde5595e8a5b1a35f88c421764e575afce"),
    ("v1.32.0", "70d3cc986aa8221cd1dfb1121852688902d3bf53"),
    ("v1.33.0", "60a317eadfcb839692a68eab88b2096f4d708f4f"),
    ("v1.34.0", "f28b4c9efbca5c5c0af716d9f2d5702667ee8a45"),
    ("v1.35.0", "66452049f3d692768c39c797b21b793dce80314e"),
    ("v1.36.0", "ecf6decece6a6de25a57aad9ba90b6ce580f6f78"),
];

/// The commit of a release; empty for versions that are not in the table.
pub(super) fn commit(git_version: &str) -> &'static str {
    COMMITS.iter().find(|(version, _)| *version == git_version).map_or("", |(_, commit)| commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minor_has_the_commit_of_its_first_release() {
        for minor in 23..=36 {
            assert_eq!(commit(&format!("v1.{minor}.0")).len(), 40, "1.{minor}");
        }
        assert_eq!(commit("v1.30.99"), "");
    }
}
