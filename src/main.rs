use std::process::ExitCode;

fn main() -> ExitCode {
    // A second start of this program, to watch over a tool's process, goes no further than this line.
    miniclaw::sandbox::supervise_if_asked();
    // Nor does one that reads documents for the server.
    miniclaw::extraction::read_documents_if_asked();
    miniclaw::cli::run()
}
