//! Git in projects whose repositories come from somebody who wants to run a program, or to read a file of the machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::conversations::data;
use crate::http::Answer;
use crate::project_git::{git, has_no_git};
use crate::script::script;
use crate::thorough::step;
use crate::world::{Server, World};

const SECRET: &str = "secret-of-the-machine-7d1f";

/// A place outside of the project: a program that leaves a mark, and a secret.
struct Outside {
    folder: tempfile::TempDir,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Other users can go here too, so that only the defences keep them out.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(folder.path().join("secret"), format!("{SECRET}\n")).unwrap();
        let outside = Self { folder };
        let evil = outside.path("evil");
        fs::write(&evil, format!("#!/bin/sh\ntouch {0}/ran; echo x > ran-$$; cat\n", outside.folder.path().display()))
            .unwrap();
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        outside
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn evil(&self) -> String {
        self.path("evil").display().to_string()
    }

    fn secret(&self) -> String {
        self.path("secret").display().to_string()
    }

    fn has_run(&self, project: &Path) -> bool {
        let left = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("ran-"))
        };
        self.path("ran").exists() || left(project) || left(&project.join(".git"))
    }
}

/// Writes the hooks of git, all of which leave a mark.
fn hooks(folder: &Path, evil: &str) {
    fs::create_dir_all(folder).unwrap();
    for name in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
        "fsmonitor-watchman",
        "post-merge",
    ] {
        let _ = symlink(evil, folder.join(name));
    }
}

/// A change to a repository, given its folder and what is outside.
type Attack = fn(&Path, &Outside);

fn config(folder: &Path, text: &str) {
    let path = folder.join(".git/config");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(path, before + text).unwrap();
}

const ATTRIBUTES: &str = "* filter=evil diff=evil merge=evil\n*.txt filter=evil diff=evil merge=evil text\n";

/// Attacks that run a program if any of git's ways to do so is open.
const RUNNING: [(&str, Attack); 21] = [
    ("hooks", |at, out| hooks(&at.join(".git/hooks"), &out.evil())),
    ("hooks path", |at, out| {
        hooks(&at.join("tools"), &out.evil());
        config(at, "[core]\n\thooksPath = tools\n");
    }),
    ("filter", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        let evil = out.evil();
        config(at, &format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\trequired = true\n"));
    }),
    ("filter process", |at, out| {
        fs::write(at.join(".git/info/attributes"), ATTRIBUTES).unwrap();
        config(at, &format!("[filter \"evil\"]\n\tprocess = {}\n\trequired\n", out.evil()));
    }),
    ("filter with an odd name", |at, out| {
        fs::write(at.join(".gitattributes"), "* filter=e.v=i.L\n").unwrap();
        config(at, &format!("[Filter \"e.v=i.L\"]\n\tClean = {0}\n\tSMUDGE = {0}\n", out.evil()));
    }),
    ("filter whose name is no text", |at, out| {
        fs::write(at.join(".gitattributes"), b"* filter=e\xff\n").unwrap();
        let before = fs::read(at.join(".git/config")).unwrap();
        let more = format!("\"]\n\tclean = {0}\n\tsmudge = {0}\n", out.evil());
        fs::write(at.join(".git/config"), [&before[..], b"[filter \"e\xff", more.as_bytes()].concat()).unwrap();
    }),
    ("fsmonitor", |at, out| config(at, &format!("[core]\n\tfsmonitor = {}\n", out.evil()))),
    ("external diff", |at, out| config(at, &format!("[diff]\n\texternal = {}\n", out.evil()))),
    ("diff driver", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        config(
            at,
            &format!("[diff \"evil\"]\n\tcommand = {0}\n\ttextconv = {0}\n\tcachetextconv = true\n", out.evil()),
        );
    }),
    ("aliases", |at, out| {
        let evil = out.evil();
        config(
            at,
            &format!(
                "[alias]\n\tstatus = !{evil}\n\tcommit = !{evil}\n\tdiff = !{evil}\n\tlog = !{evil}\n\tadd = !{evil}\n"
            ),
        );
    }),
    ("pager and editor", |at, out| {
        let evil = out.evil();
        config(
            at,
            &format!(
                "[core]\n\tpager = {evil}\n\teditor = {evil}\n\taskPass = {evil}\n[pager]\n\tlog = {evil}\n\tdiff = {evil}\n\
             \tstatus = {evil}\n\tbranch = {evil}\n[sequence]\n\teditor = {evil}\n[interactive]\n\tdiffFilter = {evil}\n"
            ),
        );
    }),
    ("signatures", |at, out| {
        let evil = out.evil();
        config(
            at,
            &format!(
                "[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n\tprogram = {evil}\n[gpg \"ssh\"]\n\tprogram = {evil}\n\
             \tdefaultKeyCommand = {evil}\n[log]\n\tshowSignature = true\n"
            ),
        );
    }),
    ("promised objects", |at, out| {
        let evil = out.evil();
        config(
            at,
            &format!(
                "[core]\n\trepositoryformatversion = 1\n\tsshCommand = {evil}\n\tgitProxy = {evil}\n[extensions]\n\tpartialClone = \
             origin\n[remote \"origin\"]\n\turl = ext::{evil} %S\n\tpromisor = true\n\tuploadpack = {evil}\n[protocol]\n\tallow = \
             always\n[protocol \"ext\"]\n\tallow = always\n[protocol \"file\"]\n\tallow = always\n[credential]\n\thelper = !{evil}\n"
            ),
        );
        // A tree that is not here would be fetched.
        let object =
            fs::read_dir(at.join(".git/objects")).unwrap().flatten().find(|entry| entry.file_name().len() == 2);
        let _ = fs::remove_dir_all(object.unwrap().path());
    }),
    ("included file", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        let evil = out.evil();
        fs::write(
            at.join("more"),
            format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n[core]\n\tfsmonitor = {evil}\n"),
        )
        .unwrap();
        config(at, "[include]\n\tpath = ../more\n");
    }),
    ("configuration of the worktree", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        config(at, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n");
        let evil = out.evil();
        fs::write(at.join(".git/config.worktree"), format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n"))
            .unwrap();
    }),
    ("configuration on a branch", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        fs::write(at.join(".git/more"), format!("[filter \"evil\"]\n\tclean = {0}\n\tsmudge = {0}\n", out.evil()))
            .unwrap();
        config(at, "[includeIf \"onbranch:**\"]\n\tpath = more\n[includeIf \"gitdir:**\"]\n\tpath = more\n");
    }),
    ("submodule", |at, out| {
        let module = at.join("module");
        fs::create_dir(&module).unwrap();
        git(&module, &["init", "-q"]);
        fs::write(module.join("x.txt"), "x\n").unwrap();
        git(&module, &["add", "-A"]);
        git(&module, &["commit", "-qm", "In it"]);
        git(at, &["add", "module"]);
        fs::write(
            at.join(".gitmodules"),
            "[submodule \"module\"]\n\tpath = module\n\turl = ./module\n\tupdate = !evil\n\tignore = none\n",
        )
        .unwrap();
        git(at, &["add", "-A"]);
        git(at, &["commit", "-qm", "With a module"]);
        fs::write(module.join("x.txt"), "y\n").unwrap();
        let evil = out.evil();
        config(&module, &format!("[core]\n\tfsmonitor = {evil}\n[diff]\n\texternal = {evil}\n"));
        hooks(&module.join(".git/hooks"), &evil);
        config(
            at,
            &format!(
                "[submodule]\n\trecurse = true\n\tactive = .\n[submodule \"module\"]\n\tupdate = !{evil}\n[status]\n\tsubmoduleSummary = true\n[diff]\n\tsubmodule = diff\n\tignoreSubmodules = none\n"
            ),
        );
    }),
    ("configured hooks", |at, out| {
        let evil = out.evil();
        let events = ["pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-checkout"];
        for event in events {
            config(at, &format!("[hook \"x.{event}\"]\n\tevent = {event}\n\tcommand = {evil}\n\tenabled = true\n"));
        }
    }),
    ("merge driver and trailers", |at, out| {
        fs::write(at.join(".gitattributes"), ATTRIBUTES).unwrap();
        let evil = out.evil();
        config(
            at,
            &format!(
                "[merge \"evil\"]\n\tdriver = {evil}\n[trailer]\n\tifexists = replace\n[trailer \"sign\"]\n\tkey = Signed\n\tcommand = \
             {evil}\n\tcmd = {evil}\n[core]\n\talternateRefsCommand = {evil}\n[uploadpack]\n\tpackObjectsHook = {evil}\n"
            ),
        );
    }),
    ("maintenance", |at, out| {
        config(at, "[gc]\n\tauto = 1\n\tautoDetach = false\n[maintenance]\n\tauto = true\n\tautoDetach = false\n");
        hooks(&at.join(".git/hooks"), &out.evil());
    }),
    ("names like options", |at, out| {
        fs::write(at.join("--output=x"), "x\n").unwrap();
        fs::write(at.join("--ext-diff"), "x\n").unwrap();
        fs::write(at.join(format!("--upload-pack={}", out.evil().replace('/', "_"))), "x\n").unwrap();
    }),
];

/// Attacks that show a file of the machine if git follows them.
const READING: [(&str, Attack); 15] = [
    ("worktree elsewhere", |at, out| {
        config(at, &format!("[core]\n\tworktree = {}\n", out.folder.path().display()));
    }),
    ("file for a folder", |at, out| {
        fs::rename(at.join(".git"), out.path("repository")).unwrap();
        fs::write(out.path("repository/info/exclude"), "").unwrap();
        fs::write(at.join(".git"), format!("gitdir: {}\n", out.path("repository").display())).unwrap();
        fs::copy(out.path("secret"), out.path("repository/description")).unwrap();
    }),
    ("link for a folder", |at, out| {
        fs::rename(at.join(".git"), out.path("repository")).unwrap();
        symlink(out.path("repository"), at.join(".git")).unwrap();
    }),
    ("borrowed objects", |at, out| {
        let other = out.path("other");
        fs::create_dir(&other).unwrap();
        git(&other, &["init", "-q"]);
        fs::copy(out.path("secret"), other.join("secret.txt")).unwrap();
        git(&other, &["add", "-A"]);
        git(&other, &["commit", "-qm", SECRET]);
        fs::write(at.join(".git/objects/info/alternates"), format!("{}\n", other.join(".git/objects").display()))
            .unwrap();
        let head = fs::read_to_string(other.join(".git/refs/heads/main")).unwrap();
        fs::write(at.join(".git/refs/heads/stolen"), head).unwrap();
    }),
    ("linked objects", |at, out| {
        let other = out.path("other");
        fs::create_dir(&other).unwrap();
        git(&other, &["init", "-q"]);
        fs::copy(out.path("secret"), other.join("secret.txt")).unwrap();
        git(&other, &["add", "-A"]);
        git(&other, &["commit", "-qm", SECRET]);
        let head = fs::read_to_string(other.join(".git/refs/heads/main")).unwrap();
        // Each folder of objects by itself, because a link for all of them is refused.
        for entry in fs::read_dir(other.join(".git/objects")).unwrap().flatten() {
            let to = at.join(".git/objects").join(entry.file_name());
            if !to.exists() {
                symlink(entry.path(), to).unwrap();
            }
        }
        fs::write(at.join(".git/refs/heads/stolen"), &head).unwrap();
        fs::write(at.join(".git/HEAD"), head).unwrap();
    }),
    ("shared folder", |at, out| {
        fs::write(at.join(".git/commondir"), format!("{}\n", out.folder.path().display())).unwrap();
    }),
    ("linked head", |at, out| {
        fs::remove_file(at.join(".git/HEAD")).unwrap();
        symlink(out.path("secret"), at.join(".git/HEAD")).unwrap();
    }),
    ("linked reference", |at, out| {
        symlink(out.path("secret"), at.join(".git/refs/heads/stolen")).unwrap();
    }),
    ("included secret", |at, out| config(at, &format!("[include]\n\tpath = {}\n", out.secret()))),
    ("configured files", |at, out| {
        let secret = out.secret();
        config(
            at,
            &format!(
                "[core]\n\tattributesFile = {secret}\n\texcludesFile = {secret}\n[mailmap]\n\tfile = {secret}\n[commit]\n\ttemplate = \
             {secret}\n[diff]\n\torderFile = {secret}\n[blame]\n\tignoreRevsFile = {secret}\n"
            ),
        );
    }),
    ("links in the files", |at, out| {
        symlink(out.path("secret"), at.join("link.txt")).unwrap();
        symlink(out.folder.path(), at.join("folder")).unwrap();
    }),
    ("link that replaces a file", |at, out| {
        fs::remove_file(at.join("a.txt")).unwrap();
        symlink(out.path("secret"), at.join("a.txt")).unwrap();
    }),
    ("linked attributes", |at, out| {
        symlink(out.path("secret"), at.join(".gitattributes")).unwrap();
        symlink(out.path("secret"), at.join(".gitignore")).unwrap();
    }),
    ("index that names a file outside", |at, out| {
        fs::copy(out.path("secret"), at.join("../secret")).unwrap();
        fs::create_dir(at.join("00")).unwrap();
        fs::write(at.join("00/secret"), "x\n").unwrap();
        git(at, &["add", "00/secret"]);
        fs::remove_dir_all(at.join("00")).unwrap();
        let mut index = fs::read(at.join(".git/index")).unwrap();
        let name = index.windows(9).position(|window| window == b"00/secret").unwrap();
        index[name..name + 2].copy_from_slice(b"..");
        // A checksum of zeros is not checked.
        let end = index.len();
        index[end - 20..].fill(0);
        fs::write(at.join(".git/index"), index).unwrap();
    }),
    ("template of the repository", |at, out| {
        config(at, &format!("[init]\n\ttemplateDir = {}\n", out.folder.path().display()));
    }),
];

/// Makes a repository with two commits, two branches and changes, and attacks it.
fn repository(at: &Path, attack: Attack, outside: &Outside) {
    fs::create_dir_all(at).unwrap();
    git(at, &["init", "-q"]);
    fs::write(at.join("a.txt"), "one\n").unwrap();
    fs::write(at.join("b.txt"), "one\n").unwrap();
    git(at, &["add", "-A"]);
    git(at, &["commit", "-qm", "One"]);
    git(at, &["checkout", "-qb", "other"]);
    fs::write(at.join("b.txt"), "two\n").unwrap();
    git(at, &["commit", "-qam", "Two"]);
    git(at, &["checkout", "-q", "main"]);
    fs::create_dir_all(at.join(".git/info")).unwrap();
    attack(at, outside);
    if !at.join("a.txt").is_symlink() {
        fs::write(at.join("a.txt"), "changed\n").unwrap();
    }
    fs::write(at.join("new.txt"), "new\n").unwrap();
}

/// Does everything that a person can do with git. Returns all responses.
async fn use_everything(server: &Server<'_>, api: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    let author = json!({"name": "Ada", "email": "ada@example.org"});
    let lists =
        ["", "/diff", "/diff?path=a.txt", "/diff?path=link.txt", "/diff?path=folder/secret", "/log", "/branches"];
    for path in lists {
        answers.push(server.get(&format!("{api}{path}")).await);
    }
    let steps: [(&str, Value); 12] = [
        ("stage", json!({"paths": ["new.txt"]})),
        ("discard", json!({"paths": ["a.txt"]})),
        ("stage", json!({})),
        ("unstage", json!({"paths": ["new.txt"]})),
        ("stage", json!({"paths": ["folder/secret"]})),
        ("stage", json!({})),
        ("commit", json!({"message": "Signed: x", "author": author})),
        ("branches", json!({"name": "more", "switch": true})),
        ("switch", json!({"name": "other"})),
        ("switch", json!({"name": "stolen"})),
        ("switch", json!({"name": "main"})),
        ("init", json!({})),
    ];
    for (path, body) in steps {
        answers.push(server.post(&format!("{api}/{path}"), body).await);
        if path.ends_with("stage") {
            answers.push(server.get(&format!("{api}/diff?staged=true")).await);
        }
    }
    let log = server.get(&format!("{api}/log")).await;
    if log.status() == 200 {
        for commit in data(&log)["items"].as_array().unwrap() {
            answers.push(server.get(&format!("{api}/diff?commit={}", commit["id"].as_str().unwrap())).await);
        }
    }
    answers.push(log);
    for path in lists {
        answers.push(server.get(&format!("{api}{path}")).await);
    }
    answers
}

async fn attacked(attacks: &[(&str, Attack)], arguments: &[&str]) {
    let world = World::new(script([])).await;
    let server = world.serve_with(arguments).await;
    for (name, attack) in attacks {
        let outside = Outside::new();
        let made = data(&server.post("/api/projects", json!({"name": "Tea"})).await);
        let id = made["id"].as_str().unwrap();
        let folder = world.path("workspaces").join(made["path"].as_str().unwrap());
        repository(&folder, *attack, &outside);
        let answers = use_everything(&server, &format!("/api/projects/{id}/git")).await;
        assert!(!outside.has_run(&folder), "{name}: a program of the repository was run");
        for answer in &answers {
            assert!(!answer.text().contains(SECRET), "{name}: {}", answer.text());
            assert!(answer.status() < 500, "{name}: {}", answer.text());
        }
        let copied = crate::world::files(&folder).into_iter().any(|path| {
            !path.is_symlink() && fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(SECRET))
        });
        assert!(!copied, "{name}: the secret is in the project");
        server.delete(&format!("/api/projects/{id}")).await.ok();
    }
}

/// Without a sandbox, so that only the way in which git is called keeps it from running something.
#[tokio::test]
async fn hostile_repository_runs_nothing_without_sandbox() {
    if !has_no_git() {
        attacked(&RUNNING, &["--port", "0", "--sandbox", "off"]).await;
    }
}

#[tokio::test]
async fn hostile_repository_runs_nothing() {
    if !has_no_git() {
        let tried: Vec<_> = RUNNING.into_iter().step_by(step(4)).collect();
        attacked(&tried, &["--port", "0"]).await;
    }
}

#[tokio::test]
async fn hostile_repository_shows_no_file_of_the_machine() {
    if !has_no_git() {
        attacked(&READING, &["--port", "0"]).await;
    }
}

/// Negative control: each way to run a program is open to git as people call it, or the attack tests nothing.
#[tokio::test]
async fn attacks_run_programs_if_nothing_prevents_them() {
    if has_no_git() {
        return;
    }
    let open = [
        "hooks",
        "hooks path",
        "filter",
        "filter with an odd name",
        "fsmonitor",
        "external diff",
        "diff driver",
        "included file",
        "configuration of the worktree",
        "configuration on a branch",
        "submodule",
    ];
    for (name, attack) in RUNNING.iter().filter(|(name, _)| open.contains(name)) {
        let (outside, folder) = (Outside::new(), tempfile::tempdir().unwrap());
        let at = folder.path().join("repository");
        repository(&at, *attack, &outside);
        for arguments in [vec!["status"], vec!["diff"], vec!["add", "-A"], vec!["commit", "-qm", "x"]] {
            let mut command = std::process::Command::new("git");
            let _ =
                command.current_dir(&at).args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments).output();
        }
        assert!(outside.has_run(&at) || outside.has_run(&at.join("module")), "{name}");
    }
}
