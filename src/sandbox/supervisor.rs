//! The supervisor: a separate process between the server and a tool's process.
//!
//! It sets up the confinement, starts the tool, and stays its ancestor: as a *subreaper* it inherits the processes that the
//! tool leaves behind (`setsid`, double forks). When the main process ends, the server sends stop, or the server is gone, it
//! can therefore kill everything and report it. It is single-threaded.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::{fs, io};

use super::confinement::{ConfinementTemplate, MountView, port_of};
use super::reaping::{Children, processes, reap_descendants};
use super::recorder::EgressRecorder;
use super::spawn::proxy_variables;
use super::sys::{self, Pid, Readiness, Reaped};
use super::wire::{
    ARGUMENT, Confinement, IN_NAMESPACE, INTERRUPT, JobReport, JobRequest, NotStarted, ProcessEnd, REQUEST_LIMIT,
    SOCKET,
};
use super::{calls, linked, overlay, seccomp_notify};

/// If this process was started as a supervisor, does that work and never returns. Must be called first in `main`, before any
/// thread exists.
pub fn supervise_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == ARGUMENT) {
        let mounts = if arguments.next().is_some_and(|next| next == IN_NAMESPACE) {
            MountView::Own
        } else {
            MountView::Inherited
        };
        let code = match sys::inherited_socket(SOCKET).and_then(|server| supervise(server, mounts)) {
            Ok(()) => 0,
            Err(_) => 1,
        };
        std::process::exit(code);
    }
}

fn supervise(mut server: UnixStream, mounts: MountView) -> io::Result<()> {
    // A Ctrl-C in the server's terminal is for the server, which decides whether its tools stop.
    let _ = sys::new_session();
    let signals = sys::signals_as_file(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    sys::become_subreaper()?;
    let children = Children::of_this_process();
    let in_advance = ConfinementTemplate::new(mounts);
    let no_namespace = in_advance.namespace.as_ref().err().cloned().flatten();
    let request = read_request(&mut server)?;
    report(&mut server, &JobReport::Accepted)?;
    let Started { main, refusals, recording } = match start(&request, in_advance) {
        Ok(started) => started,
        Err((reason, why)) => return report(&mut server, &JobReport::NotStarted { reason, why }),
    };
    // Redirects the supervisor's own stdio: only the tool's processes hold its output open, so the output ends when they do.
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for number in 0..=2 {
        sys::move_to(null.as_raw_fd(), number)?;
    }
    // A failed report means that the server is gone; its tools must be killed all the same.
    let (recorder, unrecorded) = match recording {
        Some(Ok(listener)) => (Some(EgressRecorder::new(listener)), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let _ = report(&mut server, &JobReport::Started { no_namespace, unrecorded });
    let refusals = Refusals { listener: refusals, reported: BTreeSet::new() };
    let mut attempts = Attempts { refusals, recorder };
    let status = watch(&mut server, &signals, main, &mut attempts);
    // If processes survive, the supervisor must not report an end: the missing report tells the server.
    let last = reap_descendants(main, &children)?;
    if request.overlay.is_some() {
        // As with surviving processes: without this, what was captured is not complete.
        overlay::unmount(&request.cwd)?;
    }
    attempts.finish(&mut server);
    let status = last.or(status).unwrap_or_else(|| ExitStatus::from_raw(libc::SIGKILL));
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Code(code),
        (None, signal) => ProcessEnd::Signal(signal.unwrap_or(libc::SIGKILL)),
    };
    report(&mut server, &JobReport::Ended(end))
}

fn read_request(server: &mut UnixStream) -> io::Result<JobRequest> {
    let mut length = [0; 4];
    server.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > REQUEST_LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    server.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn report(server: &mut UnixStream, report: &JobReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    server.write_all(&line)
}

/// Waits until the main process has ended (returns its status) or everything must stop (returns `None`).
fn watch(server: &mut UnixStream, signals: &OwnedFd, main: Pid, attempts: &mut Attempts) -> Option<ExitStatus> {
    loop {
        loop {
            match sys::reap() {
                Reaped::One(pid, status) if pid == main => return Some(ExitStatus::from_raw(status)),
                Reaped::One(..) => {}
                Reaped::Nobody => break,
                Reaped::NoChildren => return None,
            }
        }
        let listener = attempts.refusals.listener.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut descriptors = vec![server.as_raw_fd(), signals.as_raw_fd(), listener];
        let mut within = None;
        if let Some(recorder) = &attempts.recorder {
            descriptors.extend(recorder.descriptors());
            within = recorder.timeout();
        }
        let ready = sys::wait_readable(&descriptors, within);
        let (server_ready, signal_ready, listener_ready) = (ready[0], ready[1], ready[2]);
        if listener_ready {
            attempts.refusals.answer(server);
        }
        // Also if nothing is ready: then the time of a connection is over.
        if ready[3..].contains(&true) || !ready.contains(&true) {
            attempts.record(server);
        }
        if signal_ready {
            while let Some(signal) = sys::next_signal(signals) {
                if signal != libc::SIGCHLD {
                    return None;
                }
            }
        }
        if server_ready {
            let mut command = [0];
            match server.read(&mut command) {
                Ok(1) if command[0] == INTERRUPT => sys::signal(main, libc::SIGINT),
                Ok(_) | Err(_) => return None,
            }
        }
    }
}

/// What the job tries and is refused.
struct Attempts {
    refusals: Refusals,
    /// Absent if the hosts that the job asks for are not recorded.
    recorder: Option<EgressRecorder>,
}

impl Attempts {
    /// Answers what has arrived at the recorder, and reports hosts that are new.
    fn record(&mut self, server: &mut UnixStream) {
        for host in self.recorder.iter_mut().flat_map(EgressRecorder::serve) {
            // If the server is gone, the next read from its socket notices.
            let _ = report(server, &JobReport::HostRefused { host });
        }
    }

    /// Records what the job sent last, and reports how much was not listed.
    fn finish(&mut self, server: &mut UnixStream) {
        self.record(server);
        let requests = self.recorder.as_ref().map_or(0, EgressRecorder::more);
        if requests > 0 {
            let _ = report(server, &JobReport::MoreHosts { requests });
        }
    }
}

/// The system calls that the filter refuses.
struct Refusals {
    /// The seccomp listener from which refused calls are read; `None` if the kernel answers them itself.
    listener: Option<OwnedFd>,
    reported: BTreeSet<i64>,
}

impl Refusals {
    /// Makes the next refused call fail, and reports its name to the server the first time.
    fn answer(&mut self, server: &mut UnixStream) {
        let Some(listener) = &self.listener else { return };
        // On some kernels, receiving a notification blocks forever if none is pending.
        match sys::waiting(listener) {
            Readiness::Something => {}
            Readiness::Nothing => return,
            // Every process with the filter is gone.
            Readiness::HungUp => return self.listener = None,
        }
        // The requester may have been killed in the meantime.
        let Some(number) = seccomp_notify::refuse_next(listener) else { return };
        if self.reported.insert(number) {
            let call = calls::name(number).map_or_else(|| format!("number {number}"), str::to_owned);
            // If the server is gone, the next read from its socket notices.
            let _ = report(server, &JobReport::Refused { call });
        }
    }
}

/// The steps between fork and exec; if the start fails, the last step begun gives the reason.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Step {
    Own = b'o',
    Confinement = b'f',
    Program = b'p',
}

/// The result of a start.
struct Started {
    main: Pid,
    refusals: Option<OwnedFd>,
    /// The listener of the recorder, or why there is none; absent if none is needed.
    recording: Option<Result<TcpListener, String>>,
}

fn start(request: &JobRequest, in_advance: ConfinementTemplate) -> Result<Started, (NotStarted, String)> {
    let (mut step_reader, mut step_writer) =
        io::pipe().map_err(|error| (NotStarted::Confinement, error.to_string()))?;
    let Some((program, arguments)) = request.argv.split_first() else {
        return Err((NotStarted::Program, "no program was named".to_owned()));
    };
    if !request.cwd.is_dir() {
        return Err((NotStarted::Program, format!("its working directory {} does not exist", request.cwd.display())));
    }
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(request.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(&request.cwd).stdin(Stdio::inherit());

    let mut confinement = match request.confinement {
        Confinement::None => {
            linked::open(request).map_err(|why| (NotStarted::Confinement, why))?;
            None
        }
        Confinement::Standard => Some(in_advance.confinement(request)?),
    };
    let recording = confinement.as_mut().and_then(|confinement| confinement.recording.take());
    if let Some(Ok(listener)) = &recording {
        let port = port_of(listener).map_err(|error| (NotStarted::Confinement, error.to_string()))?;
        command.envs(proxy_variables(&format!("http://127.0.0.1:{port}")));
    }
    let counted = match &confinement {
        // The kernel counts the processes of its user namespace separately.
        Some(confinement) if confinement.has_user_namespace => None,
        Some(confinement) => Some(confinement.user.unwrap_or_else(sys::user_id)),
        None => Some(sys::user_id()),
    };
    let limits = limits(request);
    let processes = match request.person {
        Some(_) => Ok(PROCESSES_OF_PERSON),
        None => process_limit(counted),
    };
    let processes = processes.map_err(|error| (NotStarted::Program, error.to_string()))?;
    let (listener_receiver, listener_sender) =
        UnixStream::pair().map_err(|error| (NotStarted::Confinement, error.to_string()))?;
    let temporary = request.temporary();
    // SAFETY: this process has one thread, so the child may allocate and use std.
    unsafe {
        command.pre_exec(move || {
            step_writer.write_all(&[Step::Own as u8])?;
            sys::reset_signals()?;
            sys::new_session()?;
            sys::close_on_exec_from(3)?;
            for (resource, value) in &limits {
                sys::set_limit(*resource, *value)?;
            }
            if let Some(confinement) = &mut confinement {
                step_writer.write_all(&[Step::Confinement as u8])?;
                confinement.apply(&temporary, &listener_sender)?;
            } else {
                sys::die_with_parent()?;
                let _ = fs::create_dir(&temporary);
            }
            // Set after the user change: if a process exceeds the limit when it changes its user, the kernel refuses the
            // program, and other jobs of that user may have started processes since they were counted.
            sys::set_limit(libc::RLIMIT_NPROC, processes)?;
            step_writer.write_all(&[Step::Program as u8])
        });
    }
    let spawned = command.spawn();
    drop(command);
    match spawned {
        Ok(child) => {
            let refusals = seccomp_notify::receive(&listener_receiver);
            Ok(Started { main: child.id() as Pid, refusals, recording })
        }
        Err(error) => {
            let mut begun = Vec::new();
            let _ = step_reader.read_to_end(&mut begun);
            // If no step was begun, the start failed before them: at the fork or when entering the folder.
            let reason = match begun.last() {
                Some(step) if *step == Step::Confinement as u8 => NotStarted::Confinement,
                Some(_) | None => NotStarted::Program,
            };
            Err((reason, error.to_string()))
        }
    }
}

/// Resource limits for each process. They guard against accidents; some do not apply to user 0.
fn limits(request: &JobRequest) -> Vec<(libc::__rlimit_resource_t, u64)> {
    // In an overlay the kernel copies a file, whole, before the job changes it, and the limit counts for the copy.
    let file_size = if request.overlay.is_some() { 1 << 30 } else { 128 << 20 };
    let mut limits = vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_FSIZE, file_size),
        (libc::RLIMIT_NOFILE, 1024),
        (libc::RLIMIT_AS, request.memory),
    ];
    limits.extend(request.cpu_seconds.map(|seconds| (libc::RLIMIT_CPU, seconds)));
    limits
}

/// Maximum number of processes and threads of all commands of one person together: nobody else has their user.
const PROCESSES_OF_PERSON: u64 = 512;

/// Returns the maximum number of processes and threads of the job's user. The kernel also counts the user's other processes
/// (`counted` names the user; `None` if it counts only the job's), so their number is added.
fn process_limit(counted: Option<u32>) -> io::Result<u64> {
    let now: u64 = match counted {
        Some(user) => processes(Some(user))?.map(|process| process.threads).sum(),
        None => 0,
    };
    Ok(now + 256)
}
