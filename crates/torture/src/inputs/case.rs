//! Cases: damaged inputs by their numbers.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use fastrand::Rng;
use windtunnel_core::rng::fnv1a;

use super::mutate::mutate;
use crate::readers::Reader;

/// Readers with their valid inputs. The number of a case determines its reader and its input.
pub(super) struct Cases {
    readers: Vec<(Reader, Vec<Vec<u8>>)>,
    seed: u64,
}

/// A case.
pub(super) struct Case {
    pub(super) reader: Reader,
    pub(super) input: Vec<u8>,
}

thread_local! {
    /// The place of the last panic of the thread.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Cases {
    pub(super) fn new(readers: &[Reader], seed: u64) -> Self {
        let readers = readers.iter().map(|reader| (*reader, (reader.examples)())).collect();
        Self { readers, seed }
    }

    /// The number of readers. The cases of one reader are this far apart.
    pub(super) fn readers(&self) -> u64 {
        self.readers.len() as u64
    }

    /// The case of a number; `None` if there are no readers.
    pub(super) fn case(&self, number: u64) -> Option<Case> {
        let index = number.checked_rem(self.readers())?;
        let (reader, examples) = self.readers.get(usize::try_from(index).ok()?)?;
        let seed = fnv1a(&[self.seed.to_le_bytes(), number.to_le_bytes()].concat());
        Some(Case { reader: *reader, input: mutate(examples, &mut Rng::with_seed(seed)) })
    }
}

impl Case {
    /// Reads the input. Returns the place and the message of a panic.
    pub(super) fn read(&self) -> Result<(), String> {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.reader.read)(&self.input)));
        outcome.map_err(|panic| {
            let text = windtunnel_core::panics::text(&*panic);
            format!("{}: {}", PLACE.with_borrow(String::clone), text.lines().next().unwrap_or_default())
        })
    }
}

/// Keeps panics from being printed, and remembers their places instead.
pub(super) fn quiet() {
    // This installs the hook of the library, so that it does not replace ours later.
    let _ = windtunnel_core::panics::catch_panic(|| ());
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        PLACE.with_borrow_mut(|last| *last = place);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragile(bytes: &[u8]) {
        assert!(!bytes.contains(&0xff), "found 255");
    }

    fn examples() -> Vec<Vec<u8>> {
        vec![b"valid".to_vec()]
    }

    const FRAGILE: Reader = Reader { name: "fragile", read: fragile, examples };
    const PATIENT: Reader = Reader { name: "patient", read: |_| (), examples };

    #[test]
    fn a_panic_of_a_reader_is_found_with_its_message() {
        let cases = Cases::new(&[FRAGILE, PATIENT], 1);
        let found: Vec<u64> =
            (0..2000).filter(|number| cases.case(*number).unwrap().read().is_err()).collect();
        assert!(!found.is_empty() && found.iter().all(|number| number % 2 == 0), "{found:?}");
        let case = cases.case(found[0]).unwrap();
        assert!(case.read().unwrap_err().ends_with("found 255"));
        assert_eq!(cases.case(found[0]).unwrap().input, case.input);
    }

    #[test]
    fn without_readers_there_are_no_cases() {
        assert!(Cases::new(&[], 1).case(0).is_none());
    }
}
