//! Catches panics of libraries and keeps them from being printed.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that catches its own panics, without printing them. The panic hook is global and other threads
/// may panic for real meanwhile, so the hook is installed once and checks a flag of the thread.
pub fn without_panic_output<R>(work: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                default_hook(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = work();
    QUIET.set(before);
    result
}

/// Runs work that may panic and turns a panic into an error.
///
/// # Errors
/// The message of the panic.
pub fn catch_panic<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    without_panic_output(|| panic::catch_unwind(AssertUnwindSafe(work))).map_err(|panic| text(&*panic))
}

/// The message of a panic.
pub fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "it panicked without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contained_panic_is_an_error_and_quiet_mode_ends_with_it() {
        assert_eq!(catch_panic(|| panic!("no {}", "page")), Err::<(), _>("no page".to_owned()));
        assert_eq!(catch_panic(|| 7), Ok(7));
        assert!(!QUIET.get());
    }
}
