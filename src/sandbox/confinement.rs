//! The confinement of a job. The parts that do not depend on the job are prepared in advance.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::exchange::OwnerExchange;
use super::namespace::{MountNamespace, RunAsOther};
use super::user::{self, JobUser, NOBODY, job_user, other_user_can_run};
use super::wire::{JobRequest, NetworkRequest, NotStarted};
use super::{calls, linked, network, overlay, paths, scratch_owner, seccomp_notify, sys};
use crate::domain::FolderOwner;

/// Which mounts a job sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MountView {
    /// The mounts of a namespace that this supervisor creates.
    Own,
    /// The mounts that already exist: bubblewrap's, or the host's if there is no confinement.
    Inherited,
}

/// The parts of a confinement that do not depend on the job.
pub struct ConfinementTemplate {
    /// The job's mount namespace, or why there is none; the reason is `None` if this supervisor must not make one.
    pub namespace: Result<MountNamespace, Option<String>>,
    rules: Result<paths::SystemRules, String>,
    filters: Result<calls::Filters, String>,
    user: JobUser,
}

fn filters(reach: calls::NetworkAccess) -> Result<calls::Filters, String> {
    calls::filters(reach).map_err(|error| error.to_string())
}

impl ConfinementTemplate {
    pub fn new(mounts: MountView) -> Self {
        // Determined first: after entering a user namespace, the user ids differ.
        let user = job_user();
        let namespace = match mounts {
            MountView::Own => MountNamespace::enter().map_err(Some),
            MountView::Inherited => Err(None),
        };
        let memory = match namespace {
            Ok(_) | Err(None) => paths::SharedMemory::Own,
            Err(Some(_)) => paths::SharedMemory::Closed,
        };
        let kernel = sys::landlock_abi();
        let rules = if kernel < paths::MIN_ABI {
            Err(super::no_landlock(kernel))
        } else {
            paths::SystemRules::new(kernel, memory).map_err(|error| error.to_string())
        };
        Self { namespace, rules, filters: filters(calls::NetworkAccess::Nothing), user }
    }

    /// Sets up what must exist before the fork.
    ///
    /// # Errors
    /// Returns what could not be set up, and why.
    pub fn confinement(self, request: &JobRequest) -> Result<PreparedConfinement, (NotStarted, String)> {
        let unconfined = |why: String| (NotStarted::Confinement, why);
        let rules = self.rules.map_err(unconfined)?;
        let user = match (self.user, request.person, &self.namespace) {
            (JobUser::Own, None, _) => None,
            (JobUser::Own, Some(_), _) => return Err(unconfined(NO_OWN_USER.to_owned())),
            (JobUser::Unavailable, ..) => return Err(unconfined(ONLY_ROOT.to_owned())),
            (JobUser::Nobody, Some(uid), _) if !user::is_known(uid) => {
                return Err(unconfined(format!("the user {uid} does not exist in this container")));
            }
            (JobUser::Nobody, Some(_), Err(Some(why))) => return Err(unconfined(format!("{NO_OWN_MOUNTS}: {why}"))),
            (JobUser::Nobody, Some(_), Ok(namespace)) if !namespace.hides_processes => {
                return Err(unconfined(format!("{NO_OWN_MOUNTS}: /proc cannot be mounted here")));
            }
            (JobUser::Nobody, None, Err(Some(why))) if !other_user_can_run(request) => {
                return Err(unconfined(unreachable_home_error(why)));
            }
            (JobUser::Nobody, person, _) => Some(person.unwrap_or(NOBODY)),
        };
        // Before the overlay is mounted: in it, every file that is given to a user would be a change.
        let owner = user.unwrap_or_else(sys::user_id);
        let given = [&request.cwd].into_iter().filter(|_| request.owner == FolderOwner::Commands);
        let own_folders = given.chain(request.overlay.as_ref().map(|overlay| &overlay.temporary));
        for folder in own_folders {
            scratch_owner::give(folder, owner, request.person).map_err(|error| unconfined(error.to_string()))?;
        }
        for folder in &request.writable {
            // A link in the path, which an earlier job may have made, must not give away what it leads to.
            linked::without_links(folder).map_err(|error| unconfined(format!("{}: {error}", folder.display())))?;
            scratch_owner::give(folder, owner, request.person).map_err(|error| unconfined(error.to_string()))?;
        }
        // Before anything is mounted: an error of a mount would not tell a person what has happened.
        linked::open(request).map_err(unconfined)?;
        if let FolderOwner::Sharer { uid, .. } = request.owner {
            if request.person.is_none() || user.is_none() {
                return Err(unconfined(NO_SHARER.to_owned()));
            }
            scratch_owner::transfer_ownership(&request.cwd, uid).map_err(|error| unconfined(error.to_string()))?;
            scratch_owner::close_to_others(&request.cwd).map_err(|error| unconfined(error.to_string()))?;
        }
        let exchange = match (OwnerExchange::for_job(request, user), request.owner) {
            (Err(error), FolderOwner::Sharer { .. }) => return Err(unconfined(format!("{NO_EXCHANGE}: {error}"))),
            // Without it, the job may write no more than its user may.
            (exchange, _) => exchange.ok().flatten(),
        };
        let mut has_user_namespace = false;
        // A folder that a person has linked, as the job sees it.
        let mut linked = None;
        match (&self.namespace, &request.overlay) {
            (Ok(namespace), wanted) => {
                let mount = |overlay| overlay::mount(overlay, request, exchange.as_ref());
                let overlay = wanted.as_ref().map(mount).transpose();
                let overlay = overlay.map_err(|why| (NotStarted::Capture, why))?;
                if let Some(overlay) = overlay.as_ref().filter(|_| matches!(request.owner, FolderOwner::Kept(_))) {
                    linked = Some(overlay.try_clone().map_err(|error| unconfined(error.to_string()))?);
                }
                let by_other = if user.is_some() { RunAsOther::Yes } else { RunAsOther::No };
                let opened = namespace.open_for(request, by_other, (overlay, exchange.as_ref()));
                opened.map_err(|error| unconfined(format!("the job's folders: {error}")))?;
                has_user_namespace = namespace.has_user_namespace;
            }
            (Err(why), Some(_)) => {
                let why = why.clone().unwrap_or_else(|| "this process makes no mounts".to_owned());
                return Err((NotStarted::Capture, why));
            }
            // Bubblewrap has made the mounts.
            (Err(None), None) => {
                let replaced = exchange.iter().try_for_each(|exchange| exchange.replace(request));
                if let (Err(error), FolderOwner::Sharer { .. }) = (replaced, request.owner) {
                    return Err(unconfined(format!("{NO_EXCHANGE}: {error}")));
                }
            }
            (Err(Some(_)), None) if matches!(request.owner, FolderOwner::Sharer { .. }) => {
                return Err(unconfined(NO_OWN_MOUNTS.to_owned()));
            }
            (Err(Some(_)), None) => {}
        }
        let recording = match (request.network, &self.namespace) {
            (NetworkRequest::Recorded, Ok(_)) => Some(recording_listener()),
            (NetworkRequest::Recorded, Err(why)) => Some(Err(why.clone().unwrap_or_else(|| NO_NAMESPACE.to_owned()))),
            (NetworkRequest::Nothing | NetworkRequest::Proxy(_), _) => None,
        };
        let port = match (request.network, &recording) {
            (NetworkRequest::Proxy(port), _) => Some(port),
            (_, Some(Ok(listener))) => Some(port_of(listener).map_err(|error| unconfined(error.to_string()))?),
            (NetworkRequest::Nothing | NetworkRequest::Recorded, _) => None,
        };
        // After the mounts: what the job sees at the path must be the folder that was linked.
        let linked = match linked {
            Some(overlay) => Some(overlay),
            None => linked::open(request).map_err(unconfined)?,
        };
        let rules = rules.for_job(request, port, linked.as_ref()).map_err(|error| unconfined(error.to_string()))?;
        let filters = match port {
            Some(_) => filters(calls::NetworkAccess::Tcp),
            None => self.filters,
        };
        let filters = filters.map_err(unconfined)?;
        Ok(PreparedConfinement { rules: Some(rules), filters, user, has_user_namespace, recording })
    }
}

/// Why a supervisor that must not create namespaces has none.
const NO_NAMESPACE: &str = "this process makes no namespaces";

/// Returns the listener of a recorder in a network namespace of its own, or why there is none.
fn recording_listener() -> Result<TcpListener, String> {
    // The namespace has no way out, but a job must not be able to connect to anything else in it either.
    if sys::landlock_abi() < paths::TCP_ABI {
        return Err("Landlock here cannot keep a command to one port".to_owned());
    }
    network::enter().map_err(|error| format!("a network namespace could not be made: {error}"))
}

pub fn port_of(listener: &TcpListener) -> io::Result<u16> {
    listener.local_addr().map(|address| address.port())
}

/// Why a server that runs as root and cannot change its user runs no commands.
pub const ONLY_ROOT: &str = "miniclaw runs as root and the system does not let it run commands as another user \
     (CAP_SETUID and CAP_SETGID are missing); run miniclaw as an ordinary user";

/// Why a server that is not root runs no commands of people who have users of their own.
const NO_OWN_USER: &str = "each person's commands run as a user of their own, and this server is not root, so it cannot \
     change its user";
/// Why a command does not run in the folder of another person.
const NO_EXCHANGE: &str = "the files of another person cannot be shown as those of this command's user here";
const NO_SHARER: &str = "only the commands of a person work in the folder of another person";
/// Why a person's commands do not run without a mount namespace.
const NO_OWN_MOUNTS: &str = "the commands of several people need mounts of their own";

/// Returns why a server that runs as root runs no commands in a closed folder.
pub fn unreachable_home_error(why: &str) -> String {
    format!(
        "miniclaw runs as root, so its commands run as user 65534, who cannot get to the home: it lies below a folder that is \
         closed to others, and {why}. Run miniclaw as an ordinary user, or move the home out of that folder"
    )
}

/// The confinement, prepared before the fork.
pub struct PreparedConfinement {
    rules: Option<landlock::RulesetCreated>,
    filters: calls::Filters,
    /// The user that the job runs as, if it differs from the supervisor's.
    pub user: Option<u32>,
    /// Whether the job is in its own user namespace.
    pub has_user_namespace: bool,
    /// The listener of the job's recorder, or why there is none; absent if none is needed.
    pub recording: Option<Result<TcpListener, String>>,
}

impl PreparedConfinement {
    /// In the child: drops every right, in the only order that works, and sends the descriptor from which refused calls are
    /// read to the supervisor.
    pub fn apply(&mut self, temporary: &Path, supervisor: &UnixStream) -> io::Result<()> {
        sys::drop_capability_bounds();
        if let Some(id) = self.user {
            sys::become_user(id)?;
        }
        // After the user change, which clears the setting; the folder must also belong to the new user.
        sys::die_with_parent()?;
        let _ = fs::create_dir(temporary);
        sys::no_new_privileges()?;
        let rules = self.rules.take().ok_or(io::ErrorKind::Other)?;
        let reached = rules.restrict_self().map_err(io::Error::other)?;
        if reached.ruleset != landlock::RulesetStatus::FullyEnforced {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        seccomp_notify::load(&self.filters.absent)?;
        match seccomp_notify::load_with_listener(&self.filters.notifying) {
            Ok(listener) => seccomp_notify::send(supervisor, &listener),
            // Another listener exists already: the kernel refuses the calls itself, and the log does not name them.
            Err(_) => seccomp_notify::load(&self.filters.allowed),
        }
    }
}
