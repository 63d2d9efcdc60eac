//! The environment of a command: nothing of the server's own.

use std::path::Path;

use super::SEARCH_PATH;

/// Settings with which programs keep what they have learned, so that they need not learn it again, among temporary files. A
/// command that only looks must not change the folder that it works in.
const CACHES: [(&str, &str); 3] =
    [("XDG_CACHE_HOME", "cache"), ("npm_config_cache", "cache/npm"), ("PYTHONPYCACHEPREFIX", "cache/python")];

/// The same for git, which would write into its index what it has seen of the files.
const GIT: [(&str, &str); 4] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "diff.autoRefreshIndex"),
    ("GIT_CONFIG_VALUE_0", "false"),
];

/// Returns the variables of a command that works in `folder` and has its temporary files in `temporary`.
pub(super) fn variables(folder: &Path, temporary: &Path) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let fixed = [
        ("PATH", SEARCH_PATH.to_owned()),
        ("HOME", text(folder)),
        ("TMPDIR", text(temporary)),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("npm_config_update_notifier", "false".to_owned()),
    ];
    let caches = CACHES.map(|(name, below)| (name, text(&temporary.join(below))));
    let git = GIT.map(|(name, value)| (name, value.to_owned()));
    fixed.into_iter().chain(caches).chain(git).map(|(name, value)| (name.to_owned(), value)).collect()
}
