//! Tests of searches while the files change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::project::ProjectQuery;
use super::projects::{IDLE, ProjectLibraries};
use super::{IndexStorage, Library, LibrarySettings, LibrarySource, SearchOptions};
use crate::domain::{EmbedError, ProjectId, RelPath, Root};
use crate::extraction::Extractor;
use crate::retrieval::{ChunkLimits, FolderIndex, Ranking};
use crate::sandbox::{Level, Sandbox, SandboxConfig};
use crate::store::Home;

fn library(folder: &std::path::Path, large: usize) -> Arc<Library> {
    library_of(Home::open(folder).unwrap(), Root::Knowledge, large)
}

fn library_of(home: Home, root: Root, large: usize) -> Arc<Library> {
    let settings = LibrarySettings {
        source: LibrarySource::Folder(root),
        keep: IndexStorage::OnDisk,
        limits: ChunkLimits::default(),
        ranking: Ranking::default(),
        embedder: Arc::new(|| Err(EmbedError::Missing("there is none here".to_owned()))),
        tokens: Arc::new(|| Ok(None)),
        wait_for_idle_time: Arc::new(|| ()),
        extractor: Extractor::new(Sandbox::new(SandboxConfig::new(Level::Standard))),
        database_from: None,
    };
    let mut library = Library::new(home, settings);
    library.large = large;
    Arc::new(library)
}

fn answers(library: &Arc<Library>, query: &str) -> Vec<String> {
    let found = library.search(query, SearchOptions::best(5)).unwrap();
    found.hits.into_iter().map(|hit| hit.text).collect()
}

#[test]
fn search_sees_changes_without_waiting_for_the_scan() {
    for large in [0, usize::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path(), large);
        let path = folder.path().join("knowledge/birds.md");
        assert!(answers(&library, "penguins").is_empty());
        for number in 0..20 {
            let line = format!("Penguins swim{}", " far".repeat(number));
            std::fs::write(&path, &line).unwrap();
            assert_eq!(answers(&library, "penguins"), [line.as_str()], "large from {large} on");
            assert_eq!(answers(&library, "penguins"), [line.as_str()]);
        }
        std::fs::write(folder.path().join("knowledge/zoo.md"), "The zoo has penguins.").unwrap();
        assert_eq!(answers(&library, "penguins").len(), 2);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(answers(&library, "penguins"), ["The zoo has penguins."]);
    }
}

#[test]
fn index_without_changes_lets_others_write_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), usize::MAX);
    let path = folder.path().join("knowledge/birds.md");
    let index = folder.path().join("storage/retrieval/knowledge");
    let others_write = || {
        let mut other = FolderIndex::on_disk(&index, ChunkLimits::default()).unwrap();
        other.remove(&RelPath::parse("knowledge/birds.md").unwrap()).is_ok()
    };
    for text in ["Penguins swim.", "Penguins swim far."] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(answers(&library, "penguins"), [text]);
        // What was spawned may use the index for a moment.
        library.wait_until_ready().unwrap();
        library.release_idle_writer(Instant::now());
        assert!(!others_write(), "it was changed a moment ago");
        library.release_idle_writer(Instant::now() + Duration::from_secs(60));
        assert!(others_write());
        assert_eq!(answers(&library, "penguins"), [text]);
    }
}

#[test]
fn project_is_searched_where_its_folder_lies() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = Home::open(folder.path()).unwrap();
    std::fs::create_dir(elsewhere.path().join("docs")).unwrap();
    std::fs::write(elsewhere.path().join("docs/birds.md"), "Penguins swim.").unwrap();
    let id = ProjectId::parse("zoo").unwrap();
    let library = library_of(home.clone(), Root::Project(id.clone()), usize::MAX);
    assert!(library.search("penguins", SearchOptions::best(1)).is_err(), "it is not registered");
    home.add_project(id, elsewhere.path());
    let found = library.search("penguins", SearchOptions::best(1)).unwrap();
    assert_eq!((found.folder.as_str(), found.hits[0].source.as_str()), ("project/zoo", "project/zoo/docs/birds.md"));
    assert!(folder.path().join("storage/retrieval/project.zoo.index").is_dir(), "its index is a cache of the home");
    assert!(library.overview().bytes_on_disk > 0);
}

#[test]
fn size_is_known_while_the_index_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), usize::MAX);
    std::fs::write(folder.path().join("knowledge/birds.md"), "Penguins swim.").unwrap();
    assert_eq!(library.size().files, 0, "nobody has searched yet");
    assert_eq!(answers(&library, "penguins"), ["Penguins swim."]);
    // What builds an index, looks for it in the database, or drops it holds these.
    let _seen = library.lock(&library.seen);
    let _index = library.lock(&library.index);
    let _placement = library.lock(&library.placement);
    let (sender, receiver) = std::sync::mpsc::channel();
    let asked = library.clone();
    std::thread::spawn(move || sender.send(asked.size()));
    let size = receiver.recv_timeout(Duration::from_secs(60)).expect("it waits for nobody");
    assert!(size.files == 1 && size.bytes > 0, "{size:?}");
}

#[test]
fn failed_scan_is_not_treated_as_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), usize::MAX);
    let (knowledge, aside) = (folder.path().join("knowledge"), folder.path().join("aside"));
    std::fs::write(knowledge.join("birds.md"), "Penguins swim.").unwrap();
    assert_eq!(answers(&library, "penguins"), ["Penguins swim."]);
    std::fs::rename(&knowledge, &aside).unwrap();
    assert!(library.search("penguins", SearchOptions::best(5)).is_err());
    std::fs::create_dir(&knowledge).unwrap();
    assert!(answers(&library, "penguins").is_empty());
    std::fs::remove_dir(&knowledge).unwrap();
    std::fs::rename(&aside, &knowledge).unwrap();
    assert_eq!(answers(&library, "penguins"), ["Penguins swim."]);
}

fn projects(home: &Home, ids: &[&str]) -> (ProjectLibraries, Vec<tempfile::TempDir>) {
    let folders = ids.iter().map(|id| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), format!("Penguins of {id} swim.")).unwrap();
        home.add_project(ProjectId::parse(id).unwrap(), folder.path());
        folder
    });
    let folders = folders.collect();
    let of_library = home.clone();
    let make = move |root| library_of(of_library.clone(), root, usize::MAX);
    (ProjectLibraries::new(home.clone(), Arc::new(make)), folders)
}

#[test]
fn indexes_of_projects_are_dropped_when_nobody_uses_them() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let ids = ["a", "b", "c", "d", "e"];
    let (projects, _folders) = projects(&home, &ids);
    let id = |id: &str| ProjectId::parse(id).unwrap();
    assert!(projects.of(&id("none")).is_none() && projects.count() == 0);
    let search = |name: &str| {
        let library = projects.of(&id(name)).unwrap();
        let query = ProjectQuery { text: "penguins", most: 3, patience: Duration::ZERO, only: None };
        let found = library.search(&query).unwrap();
        assert_eq!(found.passages[0].hit.text, format!("Penguins of {name} swim."));
        // What was spawned ends before the library counts as unused.
        library.library.wait_until_ready().unwrap();
    };
    let held = projects.of(&id("a")).unwrap();
    ids.iter().for_each(|name| search(name));
    let settled = || projects.count() <= 5;
    assert!(settled(), "three unused ones, the one in use and the newest");
    projects.drop_idle(Instant::now());
    assert!(projects.count() > 1, "they were used just now");
    // A thread that has ended may hold its library for a moment.
    while projects.count() > 1 {
        projects.drop_idle(Instant::now() + IDLE);
        std::thread::yield_now();
    }
    drop(held);
    projects.drop_idle(Instant::now() + IDLE);
    assert_eq!(projects.count(), 0);
    search("a");
    assert!(folder.path().join("storage/retrieval/project.a.index").is_dir());
    projects.project_deleted(&id("a"));
    projects.project_deleted(&id("b"));
    let left = std::fs::read_dir(folder.path().join("storage/retrieval")).unwrap().flatten();
    let mut left: Vec<String> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["project.c.index", "project.d.index", "project.e.index"]);
}
