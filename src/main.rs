//! The `windtunnel` program: everything it does is in [`windtunnel::cli`].

use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "mimalloc")]
    keep_memory();
    windtunnel::cli::main()
}

/// Has the allocator keep what is given back. A suite makes one cluster after the other: memory that the system took back in
/// between and has to clear again was a quarter of its time.
#[cfg(feature = "mimalloc")]
#[expect(unsafe_code, reason = "the allocator's options are set by a function of C")]
fn keep_memory() {
    /// `mi_option_purge_delay` of `mi_option_t`: after how many milliseconds; -1 is never.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: options are numbers, may be set at any time, and no other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) }
}
