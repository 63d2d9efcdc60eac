use std::process::ExitCode;

fn main() -> ExitCode {
    // A process that was started to supervise a tool's process does not get past this line.
    miniclaw::sandbox::supervise_if_asked();
    // Nor does a process that reads documents for the server.
    miniclaw::extraction::read_documents_if_asked();
    // Nor does a process that runs SQL for the server.
    miniclaw::database::run_sql_if_asked();
    miniclaw::cli::run()
}
