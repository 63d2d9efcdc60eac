//! A folder that a person has linked, and another one that gets its path between the server's check and the job's start: the job
//! runs in the one that was linked, or not at all.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::UNIX_EPOCH;

use miniclaw::domain::{FolderIdentity, FolderOwner};
use miniclaw::sandbox::{Exit, Job, Level, Overlay, SandboxError};
use miniclaw::store::Capture;
use tokio_util::sync::CancellationToken;

use crate::kit::{HomeAccess, confined_levels, home};

fn identity(folder: &Path) -> FolderIdentity {
    let meta = fs::metadata(folder).unwrap();
    let born = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.map(|at| (i64::try_from(at.as_secs()).unwrap(), at.subsec_nanos()));
    FolderIdentity { device: meta.dev(), inode: meta.ino(), born }
}

/// What gets the path of the linked folder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Swap {
    Nothing,
    Folder,
    Link,
    LinkAbove,
}

/// Swaps the folder, runs a job that writes in it, and returns how it ended and whether the job has written in the wrong folder.
async fn run(level: Level, swap: Swap, captures: bool) -> (Result<Exit, SandboxError>, bool) {
    let home = home(level, HomeAccess::Open);
    for folder in ["above", "above/linked", "other", "other/linked"] {
        fs::create_dir(home.path(folder)).unwrap();
        fs::set_permissions(home.path(folder), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let folder = home.path("above/linked");
    let linked = identity(&folder);
    let away = |name: &str| fs::rename(home.path(name), home.path("away")).unwrap();
    match swap {
        Swap::Nothing => {}
        Swap::Folder => {
            away("above/linked");
            fs::rename(home.path("other/linked"), &folder).unwrap();
        }
        Swap::Link => {
            away("above/linked");
            symlink(home.path("other/linked"), &folder).unwrap();
        }
        Swap::LinkAbove => {
            away("above");
            symlink(home.path("other"), home.path("above")).unwrap();
        }
    }
    let capture = captures.then(|| Capture::create(&home.path("capture"), &home.path("scratch")).unwrap());
    let overlay = capture.as_ref().map(|capture| Overlay {
        upper: capture.upper(),
        work: capture.work(),
        temporary: capture.temporary(),
    });
    let argv = ["/bin/bash", "-c", "echo x > written"];
    let job = Job { cwd: folder.clone(), capture: overlay, owner: FolderOwner::Kept(linked), ..home.job(&argv) };
    let ended = home.sandbox.run(job, CancellationToken::new()).await.map(|done| done.exit);
    let wrong = [folder.join("written"), home.path("other/linked/written")];
    let is_wrong = swap != Swap::Nothing && wrong.iter().any(|path| path.exists());
    (ended, is_wrong)
}

#[tokio::test]
async fn folder_that_was_swapped_in_is_not_mounted() {
    for level in confined_levels().into_iter().chain([Level::Off]) {
        for captures in [false, true].into_iter().filter(|captures| !captures || level == Level::Standard) {
            let (ended, _) = run(level, Swap::Nothing, captures).await;
            match ended {
                Ok(exit) => assert_eq!(exit, Exit::Code(0), "{level:?} {captures}: the folder itself works"),
                Err(SandboxError::Capture(why)) if captures => {
                    println!("SKIPPED: captures: {why}");
                    continue;
                }
                Err(error) => panic!("{level:?} {captures}: {error}"),
            }
            for swap in [Swap::Folder, Swap::Link, Swap::LinkAbove] {
                let (ended, is_wrong) = run(level, swap, captures).await;
                assert!(!is_wrong, "{level:?} {swap:?} {captures}: written in a folder that nobody has linked");
                let why = ended.expect_err("it does not run").to_string();
                assert!(why.contains("another folder now"), "{level:?} {swap:?} {captures}: {why}");
            }
        }
    }
}
