//! What the server's own process uses, for monitoring.

use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// What this process uses. What the system does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnProcess {
    /// Resident memory in bytes.
    pub memory: Option<u64>,
    pub open_files: Option<u64>,
    /// The limit of open files.
    pub max_files: Option<u64>,
    /// Processor time.
    pub cpu_seconds: Option<f64>,
    /// Unix seconds.
    pub started_at: Option<f64>,
}

impl OwnProcess {
    /// Looks at this process, which began at `started_at`.
    pub fn now(started_at: f64) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            memory: fs::read_to_string("/proc/self/status").ok().and_then(|status| resident(&status)),
            // A process that keeps its memory private may not list them, unless it is root.
            open_files: fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as u64),
            max_files: getrlimit(Resource::Nofile).current,
            cpu_seconds: Some(cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9),
            started_at: Some(started_at),
        }
    }
}

/// Returns the resident memory in bytes.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_uses_something() {
        let process = OwnProcess::now(1.0);
        assert!(process.memory > Some(1 << 20) && process.max_files > Some(3) && process.cpu_seconds > Some(0.0));
        assert_eq!(resident("VmPeak:\t9 kB\nVmRSS:\t  2048 kB\n"), Some(2 << 20));
        assert_eq!(resident("VmRSS: many"), None);
    }
}
