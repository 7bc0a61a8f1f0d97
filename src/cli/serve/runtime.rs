//! The runtime of commands that serve clients until they are stopped.

use tokio::runtime::{Builder, Runtime};

/// Starts a runtime with a thread per processor, or with `threads`.
///
/// # Errors
/// The system starts no threads.
pub(in crate::cli) fn start(threads: Option<usize>) -> Result<Runtime, String> {
    return_freed_memory();
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(|error| format!("cannot start threads: {error}"))
}

/// Lets the allocator return freed memory to the system after ten seconds. Runs keep it, because they are faster then
/// (`src/main.rs`), but a server lives long, and would keep the memory of its largest request.
#[cfg(all(unix, feature = "jemalloc"))]
#[expect(unsafe_code, reason = "the options of the allocator have no other interface")]
fn return_freed_memory() {
    const DECAY_MS: isize = 10_000;
    // The default of new arenas, and the arena of the main thread, which exists already.
    let options: [&[u8]; 4] = [
        b"arenas.dirty_decay_ms\0",
        b"arenas.muzzy_decay_ms\0",
        b"arena.0.dirty_decay_ms\0",
        b"arena.0.muzzy_decay_ms\0",
    ];
    for option in options {
        // SAFETY: all of these are of the type `ssize_t`. An allocator without them returns an error.
        let _ = unsafe { tikv_jemalloc_ctl::raw::write(option, DECAY_MS) };
    }
}

#[cfg(not(all(unix, feature = "jemalloc")))]
fn return_freed_memory() {}
