//! System calls of a running server that fail or are slow because of fault injection (`strace --inject`).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::Server;

/// Keeps the injection active until it is dropped.
pub struct SyscallFaultInjection(Child);

impl SyscallFaultInjection {
    /// Starts the injection. `calls` are names separated by commas, `fault` is the specification for `inject=`. If
    /// folders or files are given, only calls on them are affected. Returns `None` and prints why if the process
    /// cannot be traced.
    pub fn start(server: &Server<'_>, (calls, fault): (&str, &str), paths: &[&Path]) -> Option<Self> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", &format!("trace={calls}"), "-e", &format!("inject={calls}:{fault}")]);
        paths.iter().for_each(|path| {
            strace.arg("-P").arg(path);
        });
        strace.args(["-p", &server.pid().to_string()]);
        let mut child = match strace.stdin(Stdio::null()).stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: there is no strace: {error}");
                return None;
            }
        };
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        // The requested paths are printed first.
        let first = lines.by_ref().find(|line| !line.contains("Requested path")).unwrap_or_default();
        if !first.contains("attached") {
            println!("skipped: the server cannot be traced here: {first}");
            let _ = child.wait();
            return None;
        }
        // Its output must be read, or it blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self(child))
    }
}

impl Drop for SyscallFaultInjection {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).expect("a process id");
        // SAFETY: signals our own child, not waited for yet. On SIGINT strace detaches from the server.
        unsafe { libc::kill(pid, libc::SIGINT) };
        let since = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) {
            if since.elapsed() > Duration::from_secs(3) {
                let _ = self.0.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
