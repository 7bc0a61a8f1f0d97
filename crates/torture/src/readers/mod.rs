//! The readers of windtunnel: each function that takes bytes of a user or of a network.

/// A reader, and valid inputs from which damaged ones are made.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The name, which is also that of the fuzz target.
    pub name: &'static str,
    /// Reads an input to its end. A panic, or memory without bound, is a defect; an error is not.
    pub read: fn(&[u8]),
    /// Valid inputs.
    pub examples: fn() -> Vec<Vec<u8>>,
}

/// All readers.
pub const READERS: &[Reader] = &[];
