//! Finds the files of a project by their names, for a person.

use std::time::{Duration, Instant};

use crate::domain::Place;
use crate::store::{Home, StoreError, WalkOptions};

/// Maximum time in which the names are read.
const TIME: Duration = Duration::from_secs(5);

/// The files that were found, the best first.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundNames {
    pub files: Vec<Place>,
    /// Whether there may be more files.
    pub more: bool,
}

/// How well a file matches; the best is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    WholeName,
    StartOfName,
    InName,
    InPath,
    /// The letters of each word are in the name in their order, with others between them.
    LettersOfName,
    LettersOfPath,
}

/// What files are sorted by: how well they match, and characters of the name and of the path.
type Rank = (Match, usize, usize);

/// Finds up to `limit` files below a folder whose name or path has each word of `query`, whatever its case. Files that a
/// `.gitignore` leaves out are not found. Blocks.
///
/// # Errors
/// Returns an error if there is no such folder.
pub fn find_names(home: &Home, folder: &Place, query: &str, limit: usize) -> Result<FoundNames, StoreError> {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let deadline = Some(Instant::now() + TIME);
    let walk = home.walk(folder, WalkOptions { depth: usize::MAX, sizes: false, deadline })?;
    let below = folder.path().len();
    let files = walk.entries.into_iter().filter(|entry| !entry.is_folder && !entry.is_link).map(|entry| entry.place);
    let mut found: Vec<(Rank, Place)> =
        files.filter_map(|file| Some((rank(file.path()[below..].trim_start_matches('/'), &words)?, file))).collect();
    let more = walk.is_cut || found.len() > limit;
    if found.len() > limit {
        found.select_nth_unstable(limit);
        found.truncate(limit);
    }
    found.sort_unstable();
    Ok(FoundNames { files: found.into_iter().map(|(_, file)| file).collect(), more })
}

/// Returns how well a path has the words, which are in lower case; `None` if it does not have them all.
fn rank(path: &str, words: &[String]) -> Option<Rank> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let all = |has: &dyn Fn(&str) -> bool| words.iter().all(|word| has(word));
    let matched = if all(&|word| name == word || stem == word) {
        Match::WholeName
    } else if all(&|word| name.contains(word)) {
        if words.first().is_some_and(|word| name.starts_with(word.as_str())) {
            Match::StartOfName
        } else {
            Match::InName
        }
    } else if all(&|word| path.contains(word)) {
        Match::InPath
    } else if all(&|word| has_letters(name, word)) {
        Match::LettersOfName
    } else if all(&|word| has_letters(&path, word)) {
        Match::LettersOfPath
    } else {
        return None;
    };
    Some((matched, name.chars().count(), path.chars().count()))
}

/// Returns whether a text has the letters of a word in their order.
fn has_letters(text: &str, word: &str) -> bool {
    let mut letters = text.chars();
    word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};
    use proptest::prelude::*;

    fn found(paths: &[&str], query: &str) -> Vec<String> {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut found: Vec<_> = paths.iter().filter_map(|path| Some((rank(path, &words)?, *path))).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, path)| path.to_owned()).collect()
    }

    #[test]
    fn names_match_before_paths_and_short_ones_first() {
        let paths =
            ["main/a.rs", "src/Main.rs", "src/domain.rs", "main_of_all.rs", "m/a/i/n.txt", "marking.txt", "x.txt"];
        assert_eq!(
            found(&paths, "MAIN"),
            ["src/Main.rs", "main_of_all.rs", "src/domain.rs", "main/a.rs", "marking.txt", "m/a/i/n.txt"]
        );
        assert_eq!(found(&paths, "main.rs src"), ["src/Main.rs", "src/domain.rs"]);
        assert_eq!(found(&paths, "src/m"), ["src/Main.rs", "src/domain.rs"]);
        assert_eq!(found(&["笔记/绿茶.md", "茶/水.md", "水.md"], "茶"), ["笔记/绿茶.md", "茶/水.md"]);
        assert_eq!(found(&paths, "nothing"), Vec::<String>::new());
    }

    #[test]
    fn found_files_are_limited_and_not_ignored_ones() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        for (path, text) in
            [(".gitignore", "target/\n"), ("target/a.rs", ""), ("a.rs", ""), ("b/a1.rs", ""), ("b/a2.rs", "")]
        {
            let path = scratch.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Place::of_root(Root::Project(ProjectId::scratch()));
        let names = |folder: &Place, query: &str, limit| {
            let found = find_names(&home, folder, query, limit).unwrap();
            (found.files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>(), found.more)
        };
        let of = |paths: &[&str], more| (paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>(), more);
        assert_eq!(names(&root, "a rs", 9), of(&["a.rs", "b/a1.rs", "b/a2.rs"], false));
        assert_eq!(names(&root, "a rs", 2), of(&["a.rs", "b/a1.rs"], true));
        assert_eq!(names(&root.child("b").unwrap(), "a2", 2), of(&["b/a2.rs"], false));
        assert_eq!(names(&root.child("b").unwrap(), "b", 2), of(&[], false), "only what is below counts");
    }

    proptest! {
        #[test]
        fn file_is_found_by_any_letters_of_its_path(path in "[a-zA-Z茶é./]{1,20}", keep in prop::collection::vec(any::<bool>(), 20)) {
            let letters: String = path.chars().zip(&keep).filter(|(_, kept)| **kept).map(|(letter, _)| letter).collect();
            prop_assert!(rank(&path, &[letters.to_lowercase()]).is_some());
        }
    }
}
