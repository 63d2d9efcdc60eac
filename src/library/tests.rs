//! Tests of searches while the files change.

use std::sync::Arc;

use super::{IndexStorage, Library, LibrarySettings, SearchOptions};
use crate::domain::{EmbedError, ProjectId, Root};
use crate::extraction::Extractor;
use crate::retrieval::{ChunkLimits, Ranking};
use crate::sandbox::{Level, Sandbox, SandboxConfig};
use crate::store::Home;

fn library(folder: &std::path::Path, large: usize) -> Arc<Library> {
    library_of(Home::open(folder).unwrap(), Root::Knowledge, large)
}

fn library_of(home: Home, root: Root, large: usize) -> Arc<Library> {
    let settings = LibrarySettings {
        root,
        keep: IndexStorage::OnDisk,
        limits: ChunkLimits::default(),
        ranking: Ranking::default(),
        embedder: Arc::new(|| Err(EmbedError::Missing("there is none here".to_owned()))),
        tokens: Arc::new(|| Ok(None)),
        extractor: Extractor::new(Sandbox::new(SandboxConfig::new(Level::Standard))),
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
fn project_is_searched_where_its_folder_lies() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = Home::open(folder.path()).unwrap();
    std::fs::create_dir(elsewhere.path().join("docs")).unwrap();
    std::fs::write(elsewhere.path().join("docs/birds.md"), "Penguins swim.").unwrap();
    let id = ProjectId::parse("zoo").unwrap();
    let library = library_of(home.clone(), Root::Project(id.clone()), usize::MAX);
    assert!(library.search("penguins", SearchOptions::best(1)).is_err(), "it is not registered");
    home.add_project(id, elsewhere.path()).unwrap();
    let found = library.search("penguins", SearchOptions::best(1)).unwrap();
    assert_eq!((found.folder.as_str(), found.hits[0].source.as_str()), ("project/zoo", "project/zoo/docs/birds.md"));
    assert!(folder.path().join("storage/retrieval/project.zoo.index").is_dir(), "its index is a cache of the home");
    assert!(library.overview().bytes_on_disk > 0);
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
