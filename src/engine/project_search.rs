//! Finds the lines of a project that contain a text, with the engine of ripgrep, for a person.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};

use crate::domain::Place;
use crate::store::{Home, StoreError, WalkOptions};

/// Maximum characters of a line that is returned.
const LONGEST_LINE: usize = 300;
/// Number of files that are searched before the lines are counted.
const PART: usize = 256;
/// Maximum time of a search.
const TIME: Duration = Duration::from_secs(10);

/// What is searched for.
pub struct LineSearch<'a> {
    /// One line.
    pub text: &'a str,
    pub case_sensitive: bool,
    /// Maximum number of lines.
    pub most: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    pub place: Place,
    /// From 1.
    pub number: u64,
    /// At most 300 characters.
    pub text: String,
}

/// The lines that were found, in the order of their files.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundLines {
    pub lines: Vec<FoundLine>,
    /// Number of files that were searched.
    pub searched: usize,
    /// Whether there may be more lines.
    pub more: bool,
}

/// The lines of one file: number and text.
struct FileLines {
    /// Which of the files.
    at: usize,
    lines: Vec<(u64, String)>,
}

/// Searches a file, or what is below a folder of a project. Blocks.
///
/// # Errors
/// Returns an error if there is no such folder, or if the text is too long to search for.
pub fn search_lines(home: &Home, place: &Place, search: &LineSearch<'_>) -> Result<FoundLines, StoreError> {
    search_lines_of(home, place, search, &|_| true)
}

/// Like `search_lines`, but searches only the files that `is_wanted` accepts; lines of others don't count as found. Blocks.
///
/// # Errors
/// Returns an error if there is no such folder, or if the text is too long to search for.
pub fn search_lines_of(
    home: &Home,
    place: &Place,
    search: &LineSearch<'_>,
    is_wanted: &dyn Fn(&Place) -> bool,
) -> Result<FoundLines, StoreError> {
    let mut builder = RegexMatcherBuilder::new();
    let builder = builder.fixed_strings(true).case_insensitive(!search.case_sensitive).line_terminator(Some(b'\n'));
    let too_long = |_| StoreError::NotAllowed { path: "the query".to_owned(), why: "it is too long" };
    let matcher = builder.build(search.text).map_err(too_long)?;
    let mut files = files(home, place)?;
    files.retain(is_wanted);
    let mut found = FoundLines { lines: Vec::new(), searched: 0, more: false };
    let started = Instant::now();
    // In parts, so that what is kept has a bound and the lines are the first ones.
    for part in files.chunks(PART) {
        let (lines, searched) = search_part(home, part, (&matcher, search.most));
        found.searched += searched;
        found.lines.extend(lines);
        if found.lines.len() > search.most || started.elapsed() > TIME {
            found.more = found.lines.len() > search.most || found.searched < files.len();
            break;
        }
    }
    found.lines.truncate(search.most);
    Ok(found)
}

/// Searches some files. Returns their lines in the order of the files, and the number of files that could be read.
fn search_part(home: &Home, files: &[Place], (matcher, most): (&RegexMatcher, usize)) -> (Vec<FoundLine>, usize) {
    let found: Mutex<Vec<FileLines>> = Mutex::default();
    let searched = AtomicUsize::new(0);
    home.read_each(files, &|at, bytes| {
        searched.fetch_add(1, Ordering::Relaxed);
        let mut lines = Vec::new();
        let mut searcher = SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build();
        let sink = Lossy(|number, line| {
            lines.push((number, line.trim_end_matches(['\n', '\r']).chars().take(LONGEST_LINE).collect()));
            // One more than is returned tells that there are more.
            Ok::<_, io::Error>(lines.len() <= most)
        });
        // Reading from memory does not fail.
        let _ = searcher.search_slice(matcher, bytes, sink);
        if !lines.is_empty() {
            found.lock().unwrap_or_else(PoisonError::into_inner).push(FileLines { at, lines });
        }
        true
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|file| file.at);
    let of_file = |FileLines { at, lines }| {
        let place = files[at].clone();
        lines.into_iter().map(move |(number, text)| FoundLine { place: place.clone(), number, text })
    };
    (found.into_iter().flat_map(of_file).collect(), searched.into_inner())
}

fn files(home: &Home, place: &Place) -> Result<Vec<Place>, StoreError> {
    if !home.is_folder(place) && home.has_entry(place) {
        return Ok(vec![place.clone()]);
    }
    let walk = home.walk(place, WalkOptions { depth: usize::MAX, sizes: false, deadline: None })?;
    let files = walk.entries.into_iter().filter(|entry| !entry.is_folder && !entry.is_link);
    Ok(files.map(|entry| entry.place).collect())
}
