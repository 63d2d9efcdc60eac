//! The files of a project that other programs run later, outside of the sandbox: git's hooks and settings, the tasks of
//! editors, and the like. The agent changes them only after a question of their own.

/// Files that run programs wherever they are.
const FILES: [&str; 13] = [
    ".devcontainer.json",
    ".envrc",
    ".gitmodules",
    ".lefthook-local.yml",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".mcp.json",
    ".pre-commit-config.yaml",
    "lefthook-local.yml",
    "lefthook.json",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
];
/// Folders in which every file may run programs.
const FOLDERS: [&str; 8] = [".codex", ".devcontainer", ".fleet", ".githooks", ".husky", ".idea", ".lefthook", ".run"];
/// Folders of editors, of which only some files run programs.
const EDITORS: [&str; 6] = [".claude", ".cursor", ".gemini", ".roo", ".vscode", ".zed"];
const EDITOR_FILES: [&str; 6] =
    ["launch.json", "mcp.json", "settings.json", "settings.local.json", "tasks.json", "hooks.json"];
/// The settings of a repository that name programs, or another folder with such settings.
const GIT_FILES: [&str; 3] = ["commondir", "config", "config.worktree"];
const HOOKS: &str = "hooks";
const GIT: &str = ".git";
/// What git only reads as data, whatever the names in it.
const GIT_DATA: [&str; 3] = ["logs", "objects", "refs"];

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    /// Whoever opens it gets what it leads to.
    Link,
}

/// Returns whether programs may run later because of this entry. `path` is relative to the project's folder. Names that some
/// systems take for the same count as the same.
pub fn runs_later(path: &str, kind: EntryKind) -> bool {
    let names: Vec<String> = path.split('/').filter(|name| !name.is_empty()).map(plain).collect();
    let Some(last) = names.last() else { return false };
    let is_file =
        FILES.contains(&last.as_str()) || last.ends_with(".code-workspace") || last.ends_with(".sublime-project");
    is_file || (0..names.len()).any(|at| is_run_by(&names[at], &names[at + 1..], kind))
}

/// Returns whether the entry `rest` of the folder `name` is one that runs programs; an empty `rest` is `name` itself, which is
/// no folder.
fn is_run_by(name: &str, rest: &[String], kind: EntryKind) -> bool {
    if name == GIT {
        return is_run_by_git(rest, kind);
    }
    // A repository without a working tree.
    if name.ends_with(GIT) && !rest.is_empty() {
        return is_run_by_git(rest, kind);
    }
    if FOLDERS.contains(&name) {
        return true;
    }
    EDITORS.contains(&name)
        && match rest {
            // In the place of the folder.
            [] => true,
            [file] => EDITOR_FILES.contains(&file.as_str()),
            _ => false,
        }
}

/// A `.git` that is a file names another folder, whose hooks and settings count then.
fn is_run_by_git(rest: &[String], kind: EntryKind) -> bool {
    let [first, .., last] = rest else {
        return rest.first().is_none_or(|only| kind == EntryKind::Link || is_git_file(only) || only == HOOKS);
    };
    if kind == EntryKind::Link {
        return true;
    }
    if GIT_DATA.contains(&first.as_str()) {
        return false;
    }
    // Also those of submodules and working trees, in `modules` and `worktrees`. Git does not run the samples.
    let is_hook = rest.iter().any(|name| name == HOOKS) && !last.ends_with(".sample");
    is_hook || is_git_file(last)
}

fn is_git_file(name: &str) -> bool {
    GIT_FILES.contains(&name)
}

/// Returns a name as a file system without case, or one that ignores invisible characters, compares it.
fn plain(name: &str) -> String {
    let is_ignored = |letter: &char| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let plain: String = name.chars().filter(|letter| !is_ignored(letter)).flat_map(char::to_lowercase).collect();
    let plain = plain.trim_end_matches([' ', '.']);
    // The short name of `.git` on file systems of Windows.
    if plain.starts_with("git~") { GIT.to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_run_programs_are_known_wherever_they_are() {
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            ".git",
            ".GIT/Hooks/pre-commit",
            ".g\u{200c}it/hooks/pre-commit",
            "git~1/config",
            ".git./config",
            "a/b/.git/hooks/x/y",
            ".git/modules/sub/hooks/post-checkout",
            ".git/modules/sub/config",
            ".git/worktrees/w/config.worktree",
            "mirror.git/hooks/update",
            "mirror.git/config",
            ".vscode/tasks.json",
            ".VSCode/Tasks.json",
            ".vscode",
            "app/.vscode/settings.json",
            "tea.code-workspace",
            ".idea/runConfigurations/a.xml",
            ".idea",
            ".husky/pre-push",
            ".githooks/pre-commit",
            ".envrc",
            "sub/.envrc",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".gitmodules",
            ".pre-commit-config.yaml",
            ".mcp.json",
            ".claude/settings.json",
        ] {
            assert!(runs_later(path, EntryKind::File), "{path}");
        }
        for path in [".git/refs/evil", ".git/info", ".git/hooks", ".vscode", "x/.husky"] {
            assert!(runs_later(path, EntryKind::Link), "{path}");
        }
    }

    #[test]
    fn other_files_need_no_question_of_their_own() {
        for path in [
            "",
            "src/main.rs",
            "hooks/useTea.ts",
            "config",
            ".gitignore",
            ".gitattributes",
            ".git/index",
            ".git/HEAD",
            ".git/COMMIT_EDITMSG",
            ".git/objects/ab/config",
            ".git/refs/heads/hooks/config",
            ".git/logs/refs/heads/config",
            ".git/hooks/pre-commit.sample",
            ".vscode/words.txt",
            ".vscode/snippets/tasks.json",
            "tasks.json",
            ".env",
            ".github/workflows/ci.yml",
        ] {
            assert!(!runs_later(path, EntryKind::File), "{path}");
        }
        assert!(!runs_later("way", EntryKind::Link));
    }
}
