//! Panics, by which cucumber's macros tell of a step's error.

use std::any::Any;
use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does work whose panics are caught and told in another way, so that none of them is printed. The hook is the
/// process's, and other threads panic in earnest meanwhile: it is set once, and asks each thread.
pub(super) fn quietly<R>(work: impl FnOnce() -> R) -> R {
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

/// The text of a panic.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a step panicked".to_owned())
}
