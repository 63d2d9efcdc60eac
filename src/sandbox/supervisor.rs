//! The supervisor: a process of its own between the server and a tool's process.
//!
//! It puts up the fence, starts the tool, and stays its ancestor: as *subreaper* it inherits whatever the tool leaves
//! behind (`setsid`, double forks), so that when the main process ends, when the server says stop, or when the server
//! is gone, it can kill everything and say so. It is single-threaded.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::sys::{self, Pid, Reaped};
use super::user::{NOBODY, can_change, is_root, lets_nobody_work};
use super::wire::{ARGUMENT, End, Fence, INTERRUPT, NotStarted, ORDER_LIMIT, Order, Report, SOCKET};
use super::{calls, paths};

/// How long the last of a tool's processes may take to die of SIGKILL.
const REAPING: Duration = Duration::from_secs(5);

/// If this process was started as a supervisor, does that work and never returns. To be called first in `main`, before
/// any thread exists.
pub fn supervise_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|first| first == ARGUMENT) {
        let code = match sys::inherited_socket(SOCKET).and_then(supervise) {
            Ok(()) => 0,
            Err(_) => 1,
        };
        std::process::exit(code);
    }
}

fn supervise(mut server: UnixStream) -> io::Result<()> {
    // A Ctrl-C in the server's terminal is for the server: it decides what becomes of its tools.
    let _ = sys::new_session();
    let signals = sys::signals_as_file(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    sys::become_subreaper()?;
    let in_advance = InAdvance::new();
    let order = read_order(&mut server)?;
    let main = match start(&order, in_advance) {
        Ok(pid) => pid,
        Err((reason, why)) => return report(&mut server, &Report::NotStarted { reason, why }),
    };
    // Only the tool's processes hold its output open now, so that it ends when they do.
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for number in 0..=2 {
        sys::move_to(null.as_raw_fd(), number)?;
    }
    // A server that is gone cannot be told; its tools must be killed all the same.
    let _ = report(&mut server, &Report::Started);
    let status = watch(&mut server, &signals, main);
    let status = bury(main).or(status).unwrap_or_else(|| ExitStatus::from_raw(libc::SIGKILL));
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or(libc::SIGKILL)),
    };
    report(&mut server, &Report::Ended(end))
}

fn read_order(server: &mut UnixStream) -> io::Result<Order> {
    let mut length = [0; 4];
    server.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > ORDER_LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    server.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn report(server: &mut UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    server.write_all(&line)
}

/// Until the main process has ended (its status) or everything is to stop (none).
fn watch(server: &mut UnixStream, signals: &OwnedFd, main: Pid) -> Option<ExitStatus> {
    loop {
        loop {
            match sys::reap() {
                Reaped::One(pid, status) if pid == main => return Some(ExitStatus::from_raw(status)),
                Reaped::One(..) => {}
                Reaped::Nobody => break,
                Reaped::NoChildren => return None,
            }
        }
        let [told, signalled] = sys::wait_readable([server.as_raw_fd(), signals.as_raw_fd()], -1);
        if signalled {
            while let Some(signal) = sys::next_signal(signals) {
                if signal != libc::SIGCHLD {
                    return None;
                }
            }
        }
        if told {
            let mut command = [0];
            match server.read(&mut command) {
                Ok(1) if command[0] == INTERRUPT => sys::signal(main, libc::SIGINT),
                Ok(_) | Err(_) => return None,
            }
        }
    }
}

/// Kills every descendant: each one that loses its parent becomes our child, so our children shrink to none. Gives the
/// main process's status if it ended only now.
fn bury(main: Pid) -> Option<ExitStatus> {
    let mut found = None;
    let started = Instant::now();
    while started.elapsed() < REAPING {
        for pid in children() {
            sys::signal(pid, libc::SIGKILL);
        }
        loop {
            match sys::reap() {
                Reaped::One(pid, status) if pid == main => found = Some(ExitStatus::from_raw(status)),
                Reaped::One(..) => {}
                Reaped::Nobody => break,
                Reaped::NoChildren => return found,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    found
}

fn children() -> Vec<Pid> {
    let me = std::process::id();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel without that file: look at every process.
        Err(_) => processes(None).filter(|process| process.parent == me).map(|process| process.pid).collect(),
    }
}

struct Process {
    pid: Pid,
    parent: u32,
    threads: u64,
}

/// The processes there are; only those of one user when one is named. To look at a process takes the kernel thirty times
/// as long as to say whose it is.
fn processes(user: Option<u32>) -> impl Iterator<Item = Process> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        if user.is_some() && entry.metadata().ok()?.uid() != user? {
            return None;
        }
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may hold anything; after its end: state, parent, …, the 20th field is the threads.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Process { pid, parent: fields.get(1)?.parse().ok()?, threads: fields.get(17)?.parse().ok()? })
    })
}

/// The steps between fork and exec; the last one begun is known when the start fails.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Step {
    Own = b'o',
    Fence = b'f',
    Program = b'p',
}

fn start(order: &Order, in_advance: InAdvance) -> Result<Pid, (NotStarted, String)> {
    let (mut steps, mut note) = io::pipe().map_err(|error| (NotStarted::Fence, error.to_string()))?;
    let Some((program, arguments)) = order.argv.split_first() else {
        return Err((NotStarted::Program, "no program was named".to_owned()));
    };
    if !order.cwd.is_dir() {
        return Err((NotStarted::Program, format!("its working directory {} does not exist", order.cwd.display())));
    }
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(&order.cwd).stdin(Stdio::inherit());

    let mut fence = match order.fence {
        Fence::None => None,
        Fence::Standard => Some(in_advance.fence(order).map_err(|why| (NotStarted::Fence, why))?),
    };
    let user = fence.as_ref().map_or_else(sys::user_id, |fence| fence.user.unwrap_or_else(sys::user_id));
    let limits = limits(order, user);
    let temporary = order.cwd.join(super::TEMPORARY);
    // SAFETY: this process has one thread, so the child may allocate and use std.
    unsafe {
        command.pre_exec(move || {
            note.write_all(&[Step::Own as u8])?;
            sys::usual_signals()?;
            sys::new_session()?;
            sys::close_on_exec_from(3)?;
            for (resource, value) in &limits {
                sys::set_limit(*resource, *value)?;
            }
            if let Some(fence) = &mut fence {
                note.write_all(&[Step::Fence as u8])?;
                fence.put_up(&temporary)?;
            } else {
                sys::die_with_parent()?;
                let _ = fs::create_dir(&temporary);
            }
            note.write_all(&[Step::Program as u8])
        });
    }
    let spawned = command.spawn();
    drop(command);
    match spawned {
        Ok(child) => Ok(child.id() as Pid),
        Err(error) => {
            let mut begun = Vec::new();
            let _ = steps.read_to_end(&mut begun);
            // Nothing noted: it failed before our steps, at the fork or in entering the folder.
            let reason = match begun.last() {
                Some(step) if *step == Step::Fence as u8 => NotStarted::Fence,
                Some(_) | None => NotStarted::Program,
            };
            Err((reason, error.to_string()))
        }
    }
}

/// Bounds on what one process may use. They bound accidents; user 0 is free of some of them.
fn limits(order: &Order, user: u32) -> Vec<(libc::__rlimit_resource_t, u64)> {
    // The kernel counts all threads of the user, also those of other programs: allow that many more.
    let now: u64 = processes(Some(user)).map(|process| process.threads).sum();
    let mut limits = vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_FSIZE, 128 << 20),
        (libc::RLIMIT_NOFILE, 1024),
        (libc::RLIMIT_AS, 3 << 30),
        (libc::RLIMIT_NPROC, now + 256),
    ];
    limits.extend(order.cpu_seconds.map(|seconds| (libc::RLIMIT_CPU, seconds)));
    limits
}

/// What of a fence needs no order: made while none is there.
struct InAdvance {
    rules: Result<paths::SystemRules, String>,
    filters: Result<Filters, String>,
    can_change_user: bool,
}

type Filters = [seccompiler::BpfProgram; 2];

fn filters(network: bool) -> Result<Filters, String> {
    calls::filters(network).map_err(|error| error.to_string())
}

impl InAdvance {
    fn new() -> Self {
        let kernel = sys::landlock_abi();
        let rules = if kernel < paths::LEAST_ABI {
            Err(super::no_landlock(kernel))
        } else {
            paths::SystemRules::new(kernel).map_err(|error| error.to_string())
        };
        Self { rules, filters: filters(false), can_change_user: is_root() && can_change() }
    }

    fn fence(self, order: &Order) -> Result<Prepared, String> {
        let rules = self.rules?;
        let user = (self.can_change_user && lets_nobody_work(order)).then_some(NOBODY);
        if let Some(id) = user {
            let owner = fs::metadata(&order.cwd).map_err(|error| error.to_string())?.uid();
            if owner != id {
                sys::change_owner(&order.cwd, id).map_err(|error| error.to_string())?;
            }
        }
        let rules = rules.and(order).map_err(|error| error.to_string())?;
        let filters = if order.proxy_port.is_some() { filters(true)? } else { self.filters? };
        Ok(Prepared { rules: Some(rules), filters, user })
    }
}

/// The fence, made before the fork.
struct Prepared {
    rules: Option<landlock::RulesetCreated>,
    filters: Filters,
    /// The user to become.
    user: Option<u32>,
}

impl Prepared {
    /// In the child: gives up every right, in the only order that works.
    fn put_up(&mut self, temporary: &Path) -> io::Result<()> {
        sys::drop_capability_bounds();
        if let Some(id) = self.user {
            sys::become_user(id)?;
        }
        // After the change of user, which clears it; and the folder belongs to the new user.
        sys::die_with_parent()?;
        let _ = fs::create_dir(temporary);
        sys::no_new_privileges()?;
        let rules = self.rules.take().ok_or(io::ErrorKind::Other)?;
        let reached = rules.restrict_self().map_err(io::Error::other)?;
        if reached.ruleset != landlock::RulesetStatus::FullyEnforced {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }
}
