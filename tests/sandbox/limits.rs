//! Time, memory, files, processes and output are limited, for the user as whom the job actually runs.

use std::time::Duration;

use miniclaw::sandbox::Exit;

use crate::kit::{HomeAccess, confined_levels, home, is_root, open, skipped};

/// Returns the peak resident memory of the test process, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn output_is_bounded_keeping_head_and_tail() {
    let home = open();
    let before = peak_memory();
    for endless in ["yes", "head -c 1000000000 /dev/zero", "head -c 100000000 /dev/zero | tr '\\0' x"] {
        let done = home.bash(endless).await;
        let closed = [Exit::Signal(libc::SIGPIPE), Exit::Code(128 + libc::SIGPIPE), Exit::Code(1)];
        assert!(closed.contains(&done.exit), "{endless}: a writer without end finds its pipe closed: {:?}", done.exit);
        assert!(done.stdout.head.len() + done.stdout.tail.len() <= 20_000);
        assert!(done.took < Duration::from_secs(40), "{endless} took {:?}", done.took);
    }
    assert!(peak_memory() - before < 100 << 20, "the output went through, not into memory");

    let done = home.bash("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert_eq!((done.exit, done.stdout.total_bytes), (Exit::Code(0), 50_000_012));
    assert!(done.stdout.text().starts_with("first\nxxx") && done.stdout.text().ends_with("xxx\nlast\n"));

    let done = home.bash(r"printf 'a\xff\xfe\x00b\x1b[31m'; cat; echo end").await;
    assert_eq!(done.stdout.text(), "a\u{fffd}\u{fffd}\0b\u{1b}[31mend\n", "bytes are safe, and stdin is empty");

    let done = home.bash("sleep 1000 & echo held").await;
    assert_eq!((done.exit, done.stdout.text()), (Exit::Code(0), "held\n".into()), "somebody held the output open");
    assert!(done.took < Duration::from_secs(20), "{:?}", done.took);
}

#[tokio::test]
async fn memory_and_files_are_bounded() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let done = home.bash("python3 -c 'x=bytearray(3<<30)' 2>&1 | tail -1").await;
        assert_eq!(done.stdout.text(), "MemoryError\n", "{level:?}");
        let done = home.bash("head -c 200000000 /dev/zero > big; echo $?; stat -c %s big").await;
        assert_eq!(done.stdout.text(), format!("{}\n{}\n", 128 + libc::SIGXFSZ, 128 << 20), "{level:?}");
    }
}

#[tokio::test]
async fn spinning_job_hits_cpu_limit() {
    for level in confined_levels() {
        let done = home(level, HomeAccess::Open).bash_within("while :; do :; done", Duration::from_secs(1)).await;
        assert_eq!(done.exit, Exit::TimedOut, "{level:?}");
        assert!(done.took < Duration::from_secs(30));
    }
}

/// Forks up to 1000 times and prints how often it succeeded, and as which user.
const FORK: &str = "import os,time\nn=0\ntry:\n while n<1000:\n  if os.fork()==0: time.sleep(60); os._exit(0)\n  n+=1\n\
                    except OSError as error: print(error.errno, end=' ')\nprint(n, os.getuid())";

#[tokio::test]
async fn fork_bomb_stops_at_limit() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let text = home.run_alone(home.job(&["python3", "-c", FORK])).await.stdout.text();
        let words: Vec<u32> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [errno, forked, user] = words[..] else { panic!("{level:?}: no limit: {text}") };
        assert_eq!(errno, libc::EAGAIN as u32, "{text}");
        assert!(forked <= 300, "{level:?}: {text}");
        assert_ne!(user, 0, "the limit does not hold for user 0");
        assert_eq!(home.sandbox.warning_for(&home.path("scratch")), None, "{level:?}");
    }
}

#[tokio::test]
async fn root_server_runs_commands_as_nobody() {
    if !is_root() {
        skipped("commands of root in a closed folder", "only root gives its commands another user");
        return;
    }
    for level in confined_levels() {
        let home = home(level, HomeAccess::Private);
        assert_eq!(home.sandbox.warning_for(&home.path("scratch")), None);
        assert_eq!(
            home.bash("id -u && cat $HOME_ROOT/skills/SKILL.md").await.stdout.text(),
            "65534\nskill",
            "{level:?}"
        );
        assert_eq!(home.bash("echo made > f && pwd -P && cat $HOME/f").await.stdout.text().lines().count(), 2);
        assert_eq!(std::fs::read_to_string(home.path("scratch/f")).unwrap(), "made\n");
    }
}

#[tokio::test]
async fn server_can_use_and_remove_job_files() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        home.bash("mkdir -p a/b && echo made > a/b/f && chmod 600 a/b/f").await;
        let made = home.path("scratch/a/b/f");
        assert_eq!(std::fs::read_to_string(&made).unwrap(), "made\n");
        std::fs::write(&made, "changed").unwrap();
        assert_eq!(home.bash("cat a/b/f").await.stdout.text(), "changed");
        std::fs::remove_dir_all(home.path("scratch/a")).unwrap();
    }
}
