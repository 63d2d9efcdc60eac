//! Which files of a folder have changed, as the kernel tells it (inotify): a change is in its queue before the call that made
//! it returns, so a look at the queue sees every change before it.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Changes of the files in one folder, without its subfolders.
pub(super) struct FolderEvents(OwnedFd);

/// The files that changed since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChangedNames {
    These(BTreeSet<String>),
    /// There were too many changes to remember, or the folder cannot be watched.
    Unknown,
}

impl FolderEvents {
    /// Watches a folder. `None` where that is not possible, for example because this user watches too many already.
    pub fn of(folder: &Dir) -> Option<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let wanted = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        inotify::add_watch(&queue, format!("/proc/self/fd/{}", folder.as_raw_fd()), wanted).ok()?;
        Some(Self(queue))
    }

    /// Returns the names of the files that changed since the last call. Names that are not UTF-8 are left out.
    pub fn take(&self) -> ChangedNames {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let (mut names, mut is_known) = (BTreeSet::new(), true);
        loop {
            match reader.next() {
                Ok(event) => {
                    is_known &= !event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED);
                    names.extend(event.file_name().and_then(|name| name.to_str().ok()).map(str::to_owned));
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    is_known &= error == Errno::AGAIN;
                    break;
                }
            }
        }
        if is_known { ChangedNames::These(names) } else { ChangedNames::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn these<const N: usize>(names: [&str; N]) -> ChangedNames {
        ChangedNames::These(names.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn every_kind_of_change_names_its_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        dir.write("before", "x").unwrap();
        let events = FolderEvents::of(&dir).unwrap();
        assert_eq!(events.take(), these([]));
        dir.write("made", "x").unwrap();
        assert_eq!(events.take(), these(["made"]));
        dir.write("made", "xy").unwrap();
        dir.rename("before", &dir, "after").unwrap();
        assert_eq!(events.take(), these(["after", "before", "made"]));
        dir.remove_file("made").unwrap();
        assert_eq!(events.take(), these(["made"]));
        assert_eq!(events.take(), these([]));
    }

    #[test]
    fn more_changes_than_the_queue_holds_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let events = FolderEvents::of(&dir).unwrap();
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let limit: usize = limit.trim().parse().unwrap();
        if limit > 100_000 {
            eprintln!("SKIPPED: the queue holds {limit} changes");
            return;
        }
        dir.write("a", "x").unwrap();
        // Each way is two events.
        for _ in 0..=limit / 4 {
            dir.rename("a", &dir, "b").unwrap();
            dir.rename("b", &dir, "a").unwrap();
        }
        assert_eq!(events.take(), ChangedNames::Unknown);
        assert_eq!(events.take(), these([]));
    }
}
