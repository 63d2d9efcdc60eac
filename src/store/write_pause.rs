//! A pause of all writes of a home, which another process can make: `miniclaw backup` reads the home then as it is at one moment.
//!
//! Locks of two folders that each home has are used, so that the kernel ends a pause with the process that made it. A write shares
//! the lock of `sessions/`. A pause takes the lock of the home first, which lets no further write begin, and then that of
//! `sessions/`, which waits for those under way.

use std::fs::{File, TryLockError};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use super::error::StoreError;
use super::home::lock;

/// Maximum duration of a pause. Writes go on after it, whatever holds the locks.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Maximum time that a pause waits for writes under way.
const WRITES_LIMIT: Duration = Duration::from_secs(10);
/// How often locks that are held are tried.
const LOOK: Duration = Duration::from_millis(2);

/// The locks of a home's folders.
struct Locks {
    /// Of the home.
    entrance: File,
    /// Of `sessions/`.
    writes: File,
}

impl Locks {
    fn of(home: &Dir) -> Result<Self, StoreError> {
        let open = |name: &str| -> Result<File, StoreError> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(home, name, flags, Mode::empty());
            let opened = opened.map_err(|error| StoreError::io(format!("opening {name}/"))(error.into()))?;
            Ok(File::from(opened))
        };
        Ok(Self { entrance: open(".")?, writes: open("sessions")? })
    }
}

/// Lets writes of an open home begin, unless they are paused.
pub(super) struct WriteGate {
    locks: Locks,
    under_way: Mutex<usize>,
}

/// A write that is under way.
pub(super) struct Entered<'g>(Option<&'g WriteGate>);

impl WriteGate {
    pub fn of(home: &Dir) -> Result<Self, StoreError> {
        Ok(Self { locks: Locks::of(home)?, under_way: Mutex::new(0) })
    }

    /// Begins a write, after a pause that is being made.
    pub fn enter(&self) -> Entered<'_> {
        let since = Instant::now();
        loop {
            if let Some(entered) = self.try_enter() {
                return entered;
            }
            if since.elapsed() >= LONGEST_PAUSE {
                tracing::warn!("something pauses the writes of this home for too long; they go on");
                return Entered(None);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Begins a write; `None` during a pause.
    pub fn try_enter(&self) -> Option<Entered<'_>> {
        let mut under_way = lock(&self.under_way);
        // Where folders cannot be locked, nobody can pause anything.
        let is_held = |file: &File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        if is_held(&self.locks.entrance) {
            return None;
        }
        let is_open = *under_way > 0 || !is_held(&self.locks.writes);
        // Best effort: what cannot be unlocked is unlocked with the process.
        let _ = self.locks.entrance.unlock();
        if !is_open {
            return None;
        }
        *under_way += 1;
        Some(Entered(Some(self)))
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let Some(gate) = self.0 else { return };
        let mut under_way = lock(&gate.under_way);
        *under_way -= 1;
        if *under_way == 0 {
            let _ = gate.locks.writes.unlock();
        }
    }
}

/// A pause of all writes of a home, until it is dropped.
pub(super) struct WritePause {
    since: Instant,
    _locks: Locks,
}

impl WritePause {
    /// Begins a pause. Returns `None` if writes under way do not end in time, or if another pause is being made.
    ///
    /// # Errors
    /// Returns an error if the folders of the home cannot be opened.
    pub fn begin(home: &Dir) -> Result<Option<Self>, StoreError> {
        let locks = Locks::of(home)?;
        let since = Instant::now();
        for file in [&locks.entrance, &locks.writes] {
            loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) if since.elapsed() >= WRITES_LIMIT => return Ok(None),
                    Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
                    Err(TryLockError::Error(error)) => return Err(StoreError::io("locking the home")(error)),
                }
            }
        }
        Ok(Some(Self { since: Instant::now(), _locks: locks }))
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether writes have waited all the time.
    pub fn is_sound(&self) -> bool {
        self.elapsed() < LONGEST_PAUSE / 2
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use cap_std::ambient_authority;

    use super::*;

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        dir.create_dir("sessions").unwrap();
        (folder, dir)
    }

    #[test]
    fn pause_waits_for_writes_and_lets_none_begin() {
        let (_folder, dir) = folder();
        let gate = Arc::new(WriteGate::of(&dir).unwrap());
        let (first, second) = (gate.try_enter().unwrap(), gate.try_enter().unwrap());
        let paused = Arc::new(AtomicBool::new(false));
        let (is_paused, of) = (paused.clone(), dir.try_clone().unwrap());
        let pausing = std::thread::spawn(move || {
            let pause = WritePause::begin(&of).unwrap().unwrap();
            is_paused.store(true, Ordering::SeqCst);
            pause
        });
        while gate.try_enter().is_some() {}
        assert!(!paused.load(Ordering::SeqCst), "two writes are under way");
        drop(first);
        assert!(gate.try_enter().is_none() && !paused.load(Ordering::SeqCst), "one of them still is");
        drop(second);
        let pause = pausing.join().unwrap();
        assert!(gate.try_enter().is_none() && pause.is_sound());
        let waiting = {
            let gate = gate.clone();
            std::thread::spawn(move || drop(gate.enter()))
        };
        assert!(!waiting.is_finished());
        drop(pause);
        waiting.join().unwrap();
        assert!(gate.try_enter().is_some());
    }

    #[test]
    fn two_pauses_exclude_each_other() {
        let (_folder, dir) = folder();
        let first = WritePause::begin(&dir).unwrap().unwrap();
        let locks = Locks::of(&dir).unwrap();
        assert!(locks.entrance.try_lock().is_err() && locks.writes.try_lock_shared().is_err());
        drop(first);
        assert!(locks.entrance.try_lock().is_ok() && locks.writes.try_lock().is_ok());
    }
}
