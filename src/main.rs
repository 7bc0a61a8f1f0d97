//! The `windtunnel` program: everything it does is in [`windtunnel::cli`].

use std::process::ExitCode;

#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Makes the allocator keep freed memory. A suite creates one cluster after another, and spent a quarter of its
/// time on memory that it returned to the system and that the system had to clear before each reuse.
#[cfg(all(unix, feature = "jemalloc"))]
#[expect(unsafe_code, reason = "the allocator reads its options from the symbol of this name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static KEEP_MEMORY: Option<&std::ffi::c_char> = {
    // SAFETY: a C string literal has at least its terminating byte, and it lives as long as the program.
    Some(unsafe { &*c"dirty_decay_ms:-1,muzzy_decay_ms:-1".as_ptr() })
};

fn main() -> ExitCode {
    windtunnel::cli::main()
}
