//! A folder of documents, searched. The index follows the files: every question first looks whether one changed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Hit;
use crate::retrieval::{FolderIndex, Listed};
use crate::store::{Home, StoreError};
use crate::tokens::Counter;

/// One of the home's folders and its index, built with the first question.
pub struct Library {
    home: Home,
    folder: &'static str,
    index: Mutex<FolderIndex>,
}

impl Library {
    pub fn new(home: Home, folder: &'static str, tokens: Arc<Counter>) -> Self {
        let index = FolderIndex::new(Arc::new(move |text: &str| tokens.count(text)));
        Self { home, folder, index: Mutex::new(index) }
    }

    /// The `k` best pieces, of the files as they are now.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>, StoreError> {
        self.refresh()?;
        Ok(self.index().search(query, k))
    }

    /// Reads what changed. Files that are not text are passed over.
    pub fn refresh(&self) -> Result<(), StoreError> {
        let listing: Vec<Listed> = self
            .home
            .list(self.folder)?
            .into_iter()
            .map(|file| Listed { stamp: format!("{}-{}", file.size, file.modified), path: file.path })
            .collect();
        self.index().sync(&listing, |path| self.home.read_text(path).ok().map(|text| text.content));
        Ok(())
    }

    /// How many documents and pieces there are.
    pub fn size(&self) -> (usize, usize) {
        let index = self.index();
        (index.len(), index.chunk_count())
    }

    fn index(&self) -> std::sync::MutexGuard<'_, FolderIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_follows_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let library = Library::new(home, "knowledge", Arc::new(Counter::new()));
        assert!(library.search("penguins", 3).unwrap().is_empty());

        std::fs::write(folder.path().join("knowledge/birds.md"), "# Birds\n\nPenguins cannot fly.\n").unwrap();
        let hits = library.search("can penguins fly?", 3).unwrap();
        assert_eq!((hits[0].source.as_str(), hits[0].lines), ("knowledge/birds.md", Some((1, 3))));

        std::fs::write(folder.path().join("knowledge/birds.md"), "# Birds\n\nOstriches run, 鸵鸟跑得很快。\n").unwrap();
        assert!(library.search("penguins", 3).unwrap().is_empty());
        assert_eq!(library.search("鸵鸟会跑吗", 1).unwrap().len(), 1);

        std::fs::remove_file(folder.path().join("knowledge/birds.md")).unwrap();
        assert!(library.search("ostriches", 3).unwrap().is_empty());
    }
}
