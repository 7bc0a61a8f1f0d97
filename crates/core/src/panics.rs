//! Panics of libraries that are caught, so that nothing prints them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does work that catches its panics, and prints none of them. The panic hook belongs to the process, and other threads
/// may panic in earnest meanwhile: the hook is set once, and asks each thread.
pub fn quietly<R>(work: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = work();
    QUIET.set(before);
    result
}

/// Does work that may panic, and turns the panic into an error.
///
/// # Errors
/// The text of the panic.
pub fn contained<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    quietly(|| panic::catch_unwind(AssertUnwindSafe(work))).map_err(|panic| text(&*panic))
}

/// The text of a panic.
pub fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "it panicked without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contained_panic_is_an_error_and_later_ones_are_printed_again() {
        assert_eq!(contained(|| panic!("no {}", "page")), Err::<(), _>("no page".to_owned()));
        assert_eq!(contained(|| 7), Ok(7));
        assert!(!QUIET.get());
    }
}
