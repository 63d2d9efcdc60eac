//! Which file a link means.

use std::collections::HashMap;

use icu_normalizer::ComposingNormalizerBorrowed;

/// Maximum number of files of the same name that are compared: those nearest to the folder of the link.
const MAX_COMPARED: usize = 200;

/// The files of a project by their names. Paths are relative to its root.
#[derive(Debug, Default)]
pub struct FileNames {
    /// Sorted.
    paths: Vec<String>,
    /// The numbers of the files with this path or name, whatever its case.
    by_path: HashMap<String, Vec<u32>>,
    by_name: HashMap<String, Vec<u32>>,
}

impl FileNames {
    pub fn new(mut paths: Vec<String>) -> Self {
        paths.sort();
        let (mut by_path, mut by_name) = (HashMap::<_, Vec<u32>>::new(), HashMap::<_, Vec<u32>>::new());
        for (number, path) in (0..).zip(&paths) {
            let path = folded(path);
            by_name.entry(file_name(&path).to_owned()).or_default().push(number);
            by_path.entry(path).or_default().push(number);
        }
        Self { paths, by_path, by_name }
    }

    /// Returns all paths, sorted.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the file at a path that is relative to the folder of the file `from`, or to the root if it begins with a slash;
    /// what any program that reads Markdown finds.
    pub fn at(&self, path: &str, from: &str) -> Option<&str> {
        let path = match path.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => joined(from.rsplit_once('/').map_or("", |(folder, _)| folder), path)?,
        };
        self.paths.binary_search(&path).ok().map(|at| self.paths[at].as_str())
    }

    /// Returns the file that a link in the file `from` means, as Obsidian finds it: with or without `.md`, whatever its case; a
    /// name in any folder; a path from the root, from the folder of `from`, or its end. Of several files, the one in the nearest
    /// folder is meant. `None` if there is none.
    pub fn resolve<'n>(&'n self, target: &str, from: &'n str) -> Option<&'n str> {
        let target = target.trim();
        if target.is_empty() {
            return Some(from);
        }
        let with_ending = format!("{target}.md");
        let has_ending = super::is_note(target);
        let names = if has_ending { [target, &with_ending] } else { [&with_ending, target] };
        names.into_iter().find_map(|name| self.find(name, from))
    }

    fn find(&self, name: &str, from: &str) -> Option<&str> {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(absolute) = name.strip_prefix('/') {
            return self.nearest(self.by_path.get(&folded(absolute))?, absolute, folder);
        }
        if name.starts_with("./") || name.starts_with("../") {
            let path = joined(folder, name)?;
            return self.nearest(self.by_path.get(&folded(&path))?, &path, folder);
        }
        if !name.contains('/') {
            return self.nearest(self.by_name.get(&folded(name))?, name, folder);
        }
        let from_root = self.by_path.get(&folded(name)).and_then(|found| self.nearest(found, name, folder));
        let below = || {
            let path = joined(folder, name)?;
            self.nearest(self.by_path.get(&folded(&path))?, &path, folder)
        };
        let by_end = || {
            let end = format!("/{}", folded(name));
            let found = self.by_name.get(file_name(&end))?;
            let found = self.near(found, folder);
            let fits = |number: &&u32| folded(&self.paths[**number as usize]).ends_with(&end);
            let found: Vec<u32> = found.iter().filter(fits).copied().collect();
            self.nearest(&found, name, folder)
        };
        from_root.or_else(below).or_else(by_end)
    }

    /// Returns the files nearest to a folder: paths are sorted, so those that share the most with it are next to it.
    fn near<'f>(&self, found: &'f [u32], folder: &str) -> &'f [u32] {
        if found.len() <= MAX_COMPARED {
            return found;
        }
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let at = found.partition_point(|number| self.paths[*number as usize] < prefix);
        &found[at.saturating_sub(MAX_COMPARED / 2)..found.len().min(at + MAX_COMPARED / 2)]
    }

    /// Returns the file whose folder shares the most with `folder`; then one with the same case, then one nearer to the root.
    fn nearest(&self, found: &[u32], name: &str, folder: &str) -> Option<&str> {
        let rank = |path: &str| {
            let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let shared = own.split('/').zip(folder.split('/')).take_while(|(a, b)| a == b && !a.is_empty()).count();
            (std::cmp::Reverse(shared), !path.ends_with(name), path.matches('/').count())
        };
        let found = self.near(found, folder);
        found.iter().map(|number| self.paths[*number as usize].as_str()).min_by_key(|path| rank(path))
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a path as it is compared: composed and in lower case.
fn folded(path: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(path).to_lowercase()
}

/// Returns the path that `path` means in a folder; `None` if it leads out of the root.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> FileNames {
        let paths = [
            "Home.md",
            "a/Note.md",
            "a/b/Note.md",
            "c/Note.md",
            "c/d/Other.md",
            "img/leaf.png",
            "v1.2.md",
            "a/caf\u{e9}.md",
            "x.md.md",
            "Read.markdown",
            "a/home.txt",
        ];
        FileNames::new(paths.map(str::to_owned).to_vec())
    }

    #[test]
    fn link_means_the_file_that_obsidian_opens() {
        let names = names();
        for (target, from, file) in [
            ("Home", "c/d/Other.md", Some("Home.md")),
            ("home.MD", "a/Note.md", Some("Home.md")),
            ("", "a/Note.md", Some("a/Note.md")),
            ("Note", "a/b/Note.md", Some("a/b/Note.md")),
            ("Note", "c/d/Other.md", Some("c/Note.md")),
            ("Note", "Home.md", Some("a/Note.md")),
            ("b/Note", "c/Note.md", Some("a/b/Note.md")),
            ("a/Note", "c/Note.md", Some("a/Note.md")),
            ("d/other", "c/Note.md", Some("c/d/Other.md")),
            ("../Note", "c/d/Other.md", Some("c/Note.md")),
            ("./Other", "c/d/Other.md", Some("c/d/Other.md")),
            ("../../../Home", "c/d/Other.md", None),
            ("/Home", "c/Note.md", Some("Home.md")),
            ("/Note", "c/Note.md", None),
            ("leaf.png", "c/Note.md", Some("img/leaf.png")),
            ("v1.2", "c/Note.md", Some("v1.2.md")),
            ("cafe\u{301}", "c/Note.md", Some("a/caf\u{e9}.md")),
            ("x.md", "Home.md", Some("x.md.md")),
            ("Read.markdown", "Home.md", Some("Read.markdown")),
            ("nowhere", "Home.md", None),
            ("ote", "Home.md", None),
            ("c/ther", "Home.md", None),
        ] {
            assert_eq!(names.resolve(target, from), file, "{target:?} from {from}");
        }
    }

    proptest! {
        #[test]
        fn any_target_resolves_to_a_file_that_exists(target in "[a-c./ \u{e9}NoteHm#-]{0,12}", from in "([a-c]/){0,3}x.md") {
            let names = names();
            if let Some(found) = names.resolve(&target, &from) {
                prop_assert!(found == from || names.paths().iter().any(|path| path == found));
            }
        }
    }
}
