//! The `windtunnel` program: everything it does is in [`windtunnel::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    windtunnel::cli::main()
}
