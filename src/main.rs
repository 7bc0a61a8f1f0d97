//! The `windtunnel` program: everything it does is in [`windtunnel::cli`].

use std::process::ExitCode;

#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Has the allocator keep what is given back. A suite makes one cluster after the other: memory that the system took back in
/// between and has to clear again was a quarter of its time.
#[cfg(all(unix, feature = "jemalloc"))]
#[expect(unsafe_code, reason = "the allocator looks for its options behind a symbol of this name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static KEEP_MEMORY: Option<&std::ffi::c_char> = {
    // SAFETY: a text of C has at least the byte that ends it, and this one lasts as long as the program.
    Some(unsafe { &*c"dirty_decay_ms:-1,muzzy_decay_ms:-1".as_ptr() })
};

fn main() -> ExitCode {
    windtunnel::cli::main()
}
