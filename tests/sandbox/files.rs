//! Persona, memory, skills, knowledge, sessions and configuration lie outside the folder that a command may write.

use std::collections::BTreeMap;
use std::path::Path;

use miniclaw::sandbox::Level;

use crate::kit::{Home, HomeAccess, confined_levels, home};

/// Ways to change a readable file or to create a missing one; `F` is the file, `D` its folder.
const WAYS: [&str; 12] = [
    "echo EVIL > F",
    "echo EVIL >> F",
    "rm -f F",
    "echo EVIL > new && mv -f new F",
    "cp /etc/hostname F",
    "echo EVIL > D/made-by-the-job.md",
    "mkdir D/made-by-the-job",
    "mv D D-moved && mkdir D && echo EVIL > F",
    "rm -rf D && ln -s $PWD D",
    "ln F hard && echo EVIL > hard",
    "ln -s F soft && echo EVIL > soft",
    "chmod 777 F D; chown 65534 F D; touch -d 2001-01-01 F; setfattr -n user.x -v y F; truncate -s0 F",
];

const FILES: [&str; 9] = [
    "workspace/SOUL.md",
    "workspace/USER.md",
    "memory/MEMORY.md",
    "skills/weather/SKILL.md",
    "knowledge/notes.md",
    "sessions/one.json",
    "config.yml",
    "config.json",
    ".env",
];

/// Returns every file with its content, mode and owner.
fn state(folder: &Path) -> BTreeMap<String, (String, u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if entry.file_name() == "scratch" {
            continue;
        }
        if meta.is_dir() {
            all.extend(state(&path));
        }
        let text = if meta.is_file() { std::fs::read_to_string(&path).unwrap() } else { String::new() };
        all.insert(path.display().to_string(), (text, meta.mode(), meta.uid()));
    }
    all
}

fn filled(level: Level, access: HomeAccess) -> Home {
    let home = home(level, access);
    // Two of the files are missing: they must be protected too.
    for file in FILES.iter().filter(|file| !["workspace/USER.md", "config.json"].contains(file)) {
        let path = home.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("the person's {file}")).unwrap();
    }
    home
}

async fn attack(home: &Home, files: &[&str]) {
    for file in files {
        let path = home.path(file);
        let script = WAYS.join("\n").replace('F', "\"$FILE\"").replace('D', "\"$FOLDER\"");
        let mut job = home.job(&["/bin/bash", "-c", &script]);
        job.readable = ["workspace", "memory", "skills", "knowledge"].map(|folder| home.path(folder)).into();
        job.env.push(("FILE".to_owned(), path.display().to_string()));
        job.env.push(("FOLDER".to_owned(), path.parent().unwrap().display().to_string()));
        let _ = home.run(job).await;
    }
}

#[tokio::test]
async fn no_command_changes_home_files() {
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            let home = filled(level, access);
            let before = state(home.root.path());
            attack(&home, &FILES).await;
            assert_eq!(state(home.root.path()), before, "{level:?} {access:?}");
        }
    }
    // Negative control: without confinement the same commands change the files.
    let home = filled(Level::Off, HomeAccess::Open);
    let before = state(home.root.path());
    attack(&home, &["memory/MEMORY.md"]).await;
    assert_ne!(state(home.root.path()), before);
}
