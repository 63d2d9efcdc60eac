//! All homes of a server, from a folder to a database and back.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::aside::FormerCopy;
use super::restore::{self, OtherJournals};
use super::{CacheUse, Replica};
use crate::domain::{AccountId, HomeId};
use crate::store::accounts::PEOPLE;
use crate::store::error::StoreError;
use crate::store::home::Home;
use crate::store::postgres::{Claimant, Database, DatabaseAddress, DatabaseError, FoundHome, HomeDatabase, StoredHome};
use crate::store::tree::OwnedHome;

/// Stores the home in a folder in an empty database, with the homes of the people in it.
///
/// # Errors
/// Returns [`DatabaseError::NotEmpty`] if the database has another home, and errors if the database or a home cannot be used. What is
/// stored until then is known as a part, and the next import goes on with it.
pub async fn import(database: &HomeDatabase, folder: &Path, usage: CacheUse) -> Result<(), StoreError> {
    let people = people_in(folder)?;
    let found = FoundHome::find(database, &HomeId::Server).await?;
    let is_of_another = found.is_new() && !found.is_incomplete();
    let stored = StoredHome::open(&database.address, &HomeId::Server).await?.people().await?;
    if stored.iter().any(|account| is_of_another || !people.contains(account)) {
        return Err(DatabaseError::NotEmpty.into());
    }
    let start = Claimant::start();
    // It is complete last: until then, no server starts on the database.
    let of_server = Replica::open((database, &HomeId::Server), folder, usage, start).await?;
    for account in people {
        let id = HomeId::Person(account);
        let own = id.folder(folder);
        let replica = Replica::open((database, &id), &own, usage, start).await?;
        store(&own, replica).await?;
    }
    store(folder, of_server).await
}

async fn store(folder: &Path, replica: Replica) -> Result<(), StoreError> {
    let home = Home::open(folder)?;
    home.keep_in(replica);
    let (owned, _) = OwnedHome::claim(home).await?;
    owned.log.release(owned.claim).await
}

/// Returns the people who have homes in the folder of a server.
fn people_in(folder: &Path) -> Result<Vec<AccountId>, StoreError> {
    let people = folder.join(PEOPLE);
    let doing = || StoreError::io(format!("listing {}", people.display()));
    let entries = match people.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(doing()(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(doing())?;
        let is_folder = entry.file_type().map_err(doing())?.is_dir();
        let account = entry.file_name().to_str().and_then(AccountId::parse);
        match account.filter(|_| is_folder && entry.path().join("sessions").is_dir()) {
            Some(account) => found.push(account),
            None => tracing::warn!("{} is not stored: it is no home of a person", entry.path().display()),
        }
    }
    found.sort();
    Ok(found)
}

/// Writes the home in the database to an empty folder, from which a server can start, with the homes of people in it. All are as
/// they were at one moment.
///
/// # Errors
/// Returns an error if the folder is not empty, if the database has no home, or if the folder cannot be written.
pub async fn export(address: &DatabaseAddress, folder: &Path) -> Result<(), StoreError> {
    let doing = || StoreError::io(format!("opening {}", folder.display()));
    std::fs::create_dir_all(folder).map_err(doing())?;
    let dir = opened(folder)?;
    if dir.entries().map_err(doing())?.next().is_some() {
        return Err(StoreError::Exists { path: folder.display().to_string() });
    }
    let mut stored = StoredHome::open(address, &HomeId::Server).await?;
    Database::connect(address).await?.require_complete_homes().await?;
    if !write(&stored, || Ok(dir)).await? {
        return Err(StoreError::NotFound { what: "home in the database".to_owned() });
    }
    for account in stored.people().await? {
        let id = HomeId::Person(account);
        let own = id.folder(folder);
        stored = stored.of(&id);
        write(&stored, || make_private(&own).and_then(|()| opened(&own))).await?;
    }
    Ok(())
}

/// Writes a home to the folder that `open` returns. Returns `false` if nothing is stored of it.
async fn write(stored: &StoredHome, open: impl FnOnce() -> Result<Dir, StoreError>) -> Result<bool, StoreError> {
    let facts = stored.facts().await?;
    if facts.is_empty() && !stored.has_files().await? {
        return Ok(false);
    }
    let dir = open()?;
    restore::restore(stored, &dir, FormerCopy::Unknown).await?;
    restore::restore_journals(&dir, &facts, OtherJournals::Aside(FormerCopy::Unknown))?;
    Ok(true)
}

fn opened(folder: &Path) -> Result<Dir, StoreError> {
    let doing = StoreError::io(format!("opening {}", folder.display()));
    Dir::open_ambient_dir(folder, ambient_authority()).map_err(doing)
}

/// Makes a folder that only its owner can enter, with the folders above it that are missing.
pub(super) fn make_private(folder: &Path) -> Result<(), StoreError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(StoreError::io(format!("making {}", folder.display())))
}
