use std::process::ExitCode;

fn main() -> ExitCode {
    // A second start of this program, to watch over a tool's process, goes no further than this line.
    miniclaw::sandbox::supervise_if_asked();
    miniclaw::cli::run()
}
