//! Named random streams. Each stream depends only on the seed of the run and its own name, so an additional
//! draw in one place never shifts the draws of another.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// The letters that Kubernetes uses for generated suffixes (no vowels, no look-alikes).
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The source of all streams of a run.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Creates the streams of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed that all streams depend on.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the stream of this name, always from its start.
    pub fn stream(&self, name: &str) -> Stream {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(fnv1a(name.as_bytes()));
        Stream { rng }
    }
}

/// A named sequence of draws, the same on every machine.
#[derive(Debug, Clone)]
pub struct Stream {
    rng: ChaCha8Rng,
}

impl Stream {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A number in `0.0..1.0`, with 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        if span == 0 { self.bits() } else { low + self.bits() % span }
    }

    /// `count` random letters, as Kubernetes appends to a `generateName`.
    pub fn suffix(&mut self, count: usize) -> String {
        let last = SUFFIX_LETTERS.len() as u64 - 1;
        (0..count)
            .map(|_| char::from(SUFFIX_LETTERS[usize::try_from(self.between(0, last)).unwrap_or(0)]))
            .collect()
    }

    /// A random (version 4) UUID in lower case.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.bits(), self.bits());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0x0fff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff,
        )
    }
}

/// 64-bit FNV-1a: a stable hash of short names.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_only_on_seed_and_name() {
        let draw = |seed, name: &str| Streams::new(seed).stream(name).bits();
        assert_eq!(draw(7, "a"), draw(7, "a"));
        assert_ne!(draw(7, "a"), draw(7, "b"));
        assert_ne!(draw(7, "a"), draw(8, "a"));
    }

    #[test]
    fn uuids_are_version_4_and_suffixes_use_kubernetes_letters() {
        let mut stream = Streams::new(1).stream("uid");
        let uuid = stream.uuid();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        assert!(stream.suffix(50).bytes().all(|b| SUFFIX_LETTERS.contains(&b)));
    }

    #[test]
    fn bounds_are_inclusive() {
        let mut stream = Streams::new(1).stream("x");
        let draws: std::collections::BTreeSet<u64> = (0..200).map(|_| stream.between(3, 5)).collect();
        assert_eq!(draws.into_iter().collect::<Vec<_>>(), [3, 4, 5]);
    }
}
