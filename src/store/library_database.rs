//! A library of a home in the database, for callers that block: searches and the index run on threads of their own.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::error::StoreError;
use super::home::Home;
use super::postgres::{
    Claimant, DatabaseAddress, DatabaseError, FoundHome, HomeDatabase, LibraryReading, LibraryRows, LossPolicy,
};

/// A library in the database behind a home. None of its functions may be called on the runtime's own threads.
pub struct LibraryDatabase {
    rows: LibraryRows,
    runtime: Handle,
}

impl Home {
    /// Returns a library of this home in the database; `None` if the truth of the home is not a database.
    pub fn library_database(&self, name: &str) -> Option<Arc<LibraryDatabase>> {
        let replica = self.replica()?;
        Some(Arc::new(LibraryDatabase { rows: replica.library(name), runtime: replica.runtime().clone() }))
    }
}

impl LibraryDatabase {
    /// Makes a library apart from all homes, for measurements. Blocks.
    ///
    /// # Errors
    /// Returns why the database cannot be used.
    pub fn apart(address: &DatabaseAddress, runtime: Handle) -> Result<Self, StoreError> {
        let database = HomeDatabase::new(address.clone(), LossPolicy::Accept);
        let claimed = runtime.block_on(async { FoundHome::apart(&database).await?.claim(Claimant::start()).await });
        let (home, _) = claimed?.ok_or(DatabaseError::Fenced)?;
        Ok(Self { rows: home.library("measured"), runtime })
    }

    /// Removes what [`LibraryDatabase::apart`] made.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub fn remove(&self) -> Result<(), StoreError> {
        self.ask(|rows| rows.remove_empty_home())
    }

    /// Waits for what `asking` asks of the rows. Blocks.
    ///
    /// # Errors
    /// Returns the error of `asking`.
    pub fn ask<'a, T, F>(&'a self, asking: impl FnOnce(&'a LibraryRows) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, DatabaseError>>,
    {
        Ok(self.runtime.block_on(asking(&self.rows))?)
    }

    /// Waits for what `asking` asks of a reading. Blocks.
    ///
    /// # Errors
    /// Returns the error of `asking`.
    pub fn ask_reading<'a, T, F>(
        &self,
        reading: &'a LibraryReading,
        asking: impl FnOnce(&'a LibraryReading) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, DatabaseError>>,
    {
        Ok(self.runtime.block_on(asking(reading))?)
    }

    /// Ends a reading.
    pub fn done(&self, reading: LibraryReading) {
        self.runtime.block_on(self.rows.done(reading));
    }
}
