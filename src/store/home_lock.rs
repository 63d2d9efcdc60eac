//! `sessions/.lock`: which process has a home, and where its server can be reached. A server of a cluster, which need not have the home
//! of its folder, has `storage/.lock` as long as it runs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::home::Home;

const LOCK: &str = "sessions/.lock";
/// Of a server of a cluster, whether it has the home or not.
const MEMBER_LOCK: &str = "storage/.lock";
/// Maximum wait for a lock whose server has ended.
const STALE_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum wait for a lock whose server is still running: it may just be ending.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum length of the file, in bytes.
const MAX_LENGTH: u64 = 4096;

/// How commands of the person who runs a server reach it. The file has mode 0600, no tool can read it, and the secret is
/// new at each start.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ServerContact {
    /// For instance `http://127.0.0.1:8002`.
    pub url: String,
    /// What proves that the person of a server for one person has sent a request: as the bearer token, and in
    /// `X-Miniclaw-Secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct LockNote {
    pid: u32,
    /// Absent until the server listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<ServerContact>,
    /// Whether its writes can be paused (`write_pause`).
    #[serde(default)]
    pauses: bool,
}

/// Whether something has a home open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunningServer {
    None,
    /// Its writes can be paused.
    Pausing,
    /// It is of a version that does not know pauses.
    Older,
}

/// Takes the lock; the kernel releases it when the process ends, even after a crash.
pub(super) fn take_lock(sessions: &Dir) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = sessions.open_with(".lock", &options).map_err(StoreError::io("opening sessions/.lock"))?.into_std();
    let since = Instant::now();
    while file.try_lock().is_err() {
        let pid = note_in(&file).map(|note| note.pid);
        // A process that a killed server was just starting inherits the lock for a moment.
        let is_gone = pid
            .is_some_and(|pid| Path::new("/proc/self").exists() && !Path::new("/proc").join(pid.to_string()).exists());
        if since.elapsed() > if is_gone { STALE_LOCK_TIMEOUT } else { LOCK_TIMEOUT } {
            let holder = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            return Err(StoreError::Locked { holder });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    write_note(&file, None)?;
    Ok(file)
}

fn note_in(mut file: &File) -> Option<LockNote> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MAX_LENGTH).read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_note(mut file: &File, server: Option<ServerContact>) -> Result<(), StoreError> {
    let note =
        serde_json::to_vec(&LockNote { pid: std::process::id(), server, pauses: true }).expect("it has string keys");
    let written = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(&note));
    written.map_err(StoreError::io("writing sessions/.lock"))
}

impl Home {
    /// Notes where the server of this home can be reached, for [`running_server`].
    pub fn note_server(&self, server: ServerContact) -> Result<(), StoreError> {
        self.lock_file().map_or(Ok(()), |lock| write_note(lock, Some(server)))
    }
}

/// Notes in the lock of a server of a cluster where it can be reached, for [`running_server`].
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn note_member(lock: &File, server: ServerContact) -> Result<(), StoreError> {
    write_note(lock, Some(server))
}

/// Returns whether something has a home open, and takes no lock.
pub(super) fn running(home: &Dir) -> Result<RunningServer, StoreError> {
    let file = match home.open(LOCK) {
        Ok(file) => file.into_std(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(RunningServer::None),
        Err(error) => return Err(StoreError::io("opening sessions/.lock")(error)),
    };
    if file.try_lock_shared().is_ok() {
        return Ok(RunningServer::None);
    }
    Ok(match note_in(&file) {
        Some(LockNote { pauses: true, .. }) => RunningServer::Pausing,
        _ => RunningServer::Older,
    })
}

/// Returns how the running server of a home can be reached; `None` if none runs. In a cluster it is the one of this folder, which passes
/// everything on if another one has the home.
///
/// # Errors
/// Returns [`StoreError::Locked`] if something has the home that does not listen: a server that is just starting, or a
/// command that works on the home.
pub fn running_server(home: &Path) -> Result<Option<ServerContact>, StoreError> {
    let mut holder = None;
    for lock in [LOCK, MEMBER_LOCK] {
        match note_of_holder(home, lock)? {
            Some(Some(LockNote { server: Some(server), .. })) => return Ok(Some(server)),
            Some(note) => holder = Some(note.map(|note| format!(" (process {})", note.pid)).unwrap_or_default()),
            None => {}
        }
    }
    match holder {
        Some(holder) => Err(StoreError::Locked { holder }),
        None => Ok(None),
    }
}

/// Returns what whoever holds a lock has noted in it; `None` if nobody holds it.
fn note_of_holder(home: &Path, lock: &str) -> Result<Option<Option<LockNote>>, StoreError> {
    let opened = Dir::open_ambient_dir(home, ambient_authority()).and_then(|home| home.open(lock));
    let file = match opened {
        Ok(file) => file.into_std(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io(format!("opening {lock}"))(error)),
    };
    Ok(if file.try_lock_shared().is_ok() { None } else { Some(note_in(&file)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_found_while_it_has_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert!(running_server(folder.path()).unwrap().is_none(), "there is no home");
        let home = Home::open(folder.path()).unwrap();
        assert!(matches!(running_server(folder.path()), Err(StoreError::Locked { .. })), "it does not listen yet");
        let contact = ServerContact { url: "http://127.0.0.1:1".to_owned(), ..ServerContact::default() };
        home.note_server(contact).unwrap();
        assert_eq!(running_server(folder.path()).unwrap().unwrap().url, "http://127.0.0.1:1");
        drop(home);
        assert!(running_server(folder.path()).unwrap().is_none(), "what it noted does not count any more");
    }

    #[test]
    fn member_is_found_without_the_home() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("storage")).unwrap();
        let storage = Dir::open_ambient_dir(folder.path().join("storage"), ambient_authority()).unwrap();
        let lock = take_lock(&storage).unwrap();
        assert!(matches!(running_server(folder.path()), Err(StoreError::Locked { .. })), "it does not listen yet");
        note_member(&lock, ServerContact { url: "http://127.0.0.1:2".to_owned(), secret: None }).unwrap();
        assert_eq!(running_server(folder.path()).unwrap().unwrap().url, "http://127.0.0.1:2");
        let home = Home::open(folder.path()).unwrap();
        assert_eq!(running_server(folder.path()).unwrap().unwrap().url, "http://127.0.0.1:2", "it opens the home");
        drop((home, lock));
        assert!(running_server(folder.path()).unwrap().is_none());
    }
}
