//! A failed start is an error with its reason. Nothing runs without confinement.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use miniclaw::sandbox::{Job, Level, Sandbox, SandboxConfig, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::kit::{Home, HomeAccess, confined_levels, has, home, is_root, open, program, skipped};

/// Returns the error of a job that must run neither with `run` nor with `open`.
async fn refused(home: &Home, job: Job) -> SandboxError {
    let ran = home.path("scratch/ran");
    let long_lived = home.sandbox.open(job.clone()).await.map(drop);
    let Err(error) = home.sandbox.run(job, CancellationToken::new()).await else { panic!("it ran") };
    assert_eq!(format!("{:?}", long_lived.expect_err("it ran")), format!("{error:?}"));
    assert!(!ran.exists(), "{error}");
    error
}

fn touch(home: &Home) -> Job {
    home.job(&["/bin/bash", "-c", "touch ran"])
}

#[tokio::test]
async fn oversized_arguments_are_an_error() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let long = "x".repeat(200 << 10);
        let too_long = home.job(&["/bin/bash", "-c", &format!("touch ran # {long}")]);
        let mut too_much = touch(&home);
        too_much.env.push(("LONG".to_owned(), long));
        let mut many = touch(&home);
        many.argv.extend((0..80).map(|_| "y".repeat(100 << 10)));
        // More than the request to the supervisor may contain.
        let mut endless = touch(&home);
        endless.argv.push("z".repeat(9 << 20));
        for (job, sign) in [
            (too_long, "Argument list too long"),
            (too_much, "Argument list too long"),
            (many, "Argument list too long"),
            (endless, "the command is too long"),
        ] {
            let error = refused(&home, job).await;
            assert!(matches!(error, SandboxError::Program { .. }), "{level:?}: {error:?}");
            assert!(error.to_string().contains(sign), "{level:?}: {error}");
        }
        // Negative control: the same job with fewer arguments runs.
        home.run(touch(&home)).await;
        assert!(home.path("scratch/ran").exists());
    }
}

#[tokio::test]
async fn missing_folder_is_an_error() {
    let home = open();
    for (folder, sign) in [("no such folder", "does not exist"), ("victim.txt", "does not exist")] {
        let job = Job { cwd: home.path(folder), ..touch(&home) };
        let error = refused(&home, job).await;
        assert!(matches!(error, SandboxError::Program { .. }) && error.to_string().contains(sign), "{error}");
    }
}

#[tokio::test]
async fn fork_failure_is_the_error() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    let homes: Vec<Home> = confined_levels().into_iter().map(|level| home(level, HomeAccess::Open)).collect();
    // Only for the thread of this test: the system cannot start another process.
    let none = [libc::SYS_clone, libc::SYS_vfork, libc::SYS_fork].map(|call| (call, Vec::new())).into();
    let full = SeccompAction::Errno(libc::EAGAIN as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(none, SeccompAction::Allow, full, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    for home in homes {
        let error = refused(&home, touch(&home)).await;
        assert!(matches!(error, SandboxError::Supervisor(_)), "{error:?}");
        assert!(error.to_string().contains("Resource temporarily unavailable"), "{error}");
    }
}

/// The supervisor itself runs, but the system cannot start its child.
#[tokio::test]
async fn exec_failure_is_the_error() {
    if !is_root() || !has("setpriv") || !has("prlimit") {
        skipped("a supervisor that may start nothing", "needs root, setpriv and prlimit");
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let copy = home.path("miniclaw");
    std::fs::copy(program(), &copy).unwrap();
    let wrapper = home.path("supervisor");
    let start = |limit: &str| {
        let user = "setpriv --reuid=4242 --regid=4242 --clear-groups";
        let script = format!("#!/bin/sh\nPATH=/usr/bin:/bin exec {user} prlimit {limit} {} \"$@\"\n", copy.display());
        std::fs::write(&wrapper, script).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(home.path("scratch"), std::fs::Permissions::from_mode(0o777)).unwrap();
        let config = SandboxConfig { supervisor_exe: PathBuf::from(&wrapper), level: Level::Standard };
        Home { sandbox: Sandbox::new(config), root: tempfile::tempdir().unwrap() }
    };
    let full = start("--nproc=0");
    for result in [
        full.sandbox.run(touch(&home), CancellationToken::new()).await.map(drop),
        full.sandbox.open(touch(&home)).await.map(drop),
    ] {
        let error = result.expect_err("it ran");
        assert!(matches!(error, SandboxError::Program { .. }), "{error:?}");
        assert!(error.to_string().contains("Resource temporarily unavailable"), "{error}");
        assert!(!home.path("scratch/ran").exists());
    }
    // Negative control: with a high enough limit it runs.
    start("--nproc=9999").sandbox.run(touch(&home), CancellationToken::new()).await.unwrap();
    assert!(home.path("scratch/ran").exists());
}
