//! `sessions/pictures/{session}/{hash}.{png|jpg|webp|gif}`: the pictures that were sent with messages, each stored once
//! under the hash of its bytes, however many messages show it.
//!
//! A file is written before a message refers to it, and is verified by its hash whenever it is read: a changed file counts
//! as missing. The folder moves with its session.

use std::collections::BTreeMap;
use std::io;

use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::home::Home;
use super::session_files::SessionFiles;
use super::{aside, atomic};
use crate::domain::picture::{Media, head};
use crate::domain::{NewPicture, SessionId};

pub(super) const FOLDER: &str = "pictures";

/// Returns the name of a picture: the SHA-256 of its bytes in hexadecimal.
pub fn picture_hash(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

impl Home {
    /// Stores pictures of a session. Skips bytes that are not a picture or do not match their hash.
    ///
    /// # Errors
    /// Returns an error if a picture cannot be written; the ones before it are stored.
    pub(super) fn keep_pictures(&self, session: &SessionId, pictures: &[NewPicture]) -> Result<(), StoreError> {
        if pictures.is_empty() {
            return Ok(());
        }
        let doing = || format!("keeping a picture of {session}");
        let folder = format!("{FOLDER}/{session}");
        self.sessions_dir().create_dir_all(&folder).map_err(StoreError::io(doing()))?;
        let dir = self.sessions_dir().open_dir(&folder).map_err(StoreError::io(doing()))?;
        for NewPicture { hash, bytes } in pictures {
            let Some(head) = head(bytes).filter(|_| picture_hash(bytes) == *hash) else { continue };
            if read(&dir, hash).is_none() {
                let name = format!("{hash}.{}", head.media.extension());
                atomic::replace(&dir, &name, bytes, 0o600).map_err(StoreError::io(doing()))?;
            }
        }
        // A power failure must not lose the folder of a file that a message refers to.
        let above = self.sessions_dir().open_dir(FOLDER).and_then(|above| atomic::sync_dir(&above));
        above.and_then(|()| atomic::sync_dir(self.sessions_dir())).map_err(StoreError::io(doing()))
    }

    pub(super) fn move_pictures_to_deleted(&self, session: &SessionId) -> io::Result<()> {
        aside::move_to_deleted(self.sessions_dir(), FOLDER, session)
    }

    pub(super) fn restore_pictures(&self, session: &SessionId) -> io::Result<()> {
        aside::restore(self.sessions_dir(), FOLDER, session)
    }
}

impl SessionFiles {
    /// Returns the bytes of a picture; `None` if it is missing or does not match the hash.
    pub fn picture(&self, hash: &str) -> Option<Vec<u8>> {
        read(&self.pictures_dir().ok()?, hash)
    }

    /// Returns all pictures of the session by their hashes.
    pub fn pictures(&self) -> BTreeMap<String, Vec<u8>> {
        let Ok(dir) = self.pictures_dir() else { return BTreeMap::new() };
        let names = dir.entries().into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let hashes = names.filter_map(|name| Some(name.split_once('.')?.0.to_owned()));
        hashes.filter_map(|hash| read(&dir, &hash).map(|bytes| (hash, bytes))).collect()
    }

    fn pictures_dir(&self) -> io::Result<Dir> {
        self.home.sessions_dir().open_dir(format!("{FOLDER}/{}", self.session))
    }
}

fn read(dir: &Dir, hash: &str) -> Option<Vec<u8>> {
    if hash.len() != 64 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let names = Media::ALL.into_iter().map(|media| format!("{hash}.{}", media.extension()));
    let mut found = names.filter_map(|name| dir.read(name).ok());
    found.find(|bytes| picture_hash(bytes) == hash && head(bytes).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a\x03\x00\x02\x00\x00";

    fn new(bytes: &[u8]) -> NewPicture {
        NewPicture { hash: picture_hash(bytes), bytes: bytes.into() }
    }

    #[test]
    fn picture_is_verified_by_hash_and_repaired_on_upload() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let gif = new(GIF);
        let other = NewPicture { hash: picture_hash(b"x"), bytes: GIF.into() };
        home.keep_pictures(&session, &[gif.clone(), other.clone(), new(b"no picture")]).unwrap();
        let file = folder.path().join(format!("sessions/pictures/s/{}.gif", gif.hash));
        assert_eq!(std::fs::read(&file).unwrap(), GIF);
        assert_eq!(home.session_files(&session).pictures(), BTreeMap::from([(gif.hash.clone(), GIF.to_vec())]));
        for missing in [other.hash.as_str(), "", "..", "../s", &gif.hash.to_uppercase()] {
            assert_eq!(home.session_files(&session).picture(missing), None, "{missing}");
        }
        std::fs::write(&file, [GIF, b"more"].concat()).unwrap();
        assert_eq!(home.session_files(&session).picture(&gif.hash), None);
        home.keep_pictures(&session, std::slice::from_ref(&gif)).unwrap();
        assert_eq!(home.session_files(&session).picture(&gif.hash).as_deref(), Some(GIF));
    }

    #[test]
    fn pictures_follow_their_session() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let save = || std::fs::write(folder.path().join("sessions/s.json"), "{}").unwrap();
        save();
        let gif = new(GIF);
        home.keep_pictures(&session, std::slice::from_ref(&gif)).unwrap();
        assert!(home.delete_session(&session).unwrap());
        assert_eq!(home.session_files(&session).picture(&gif.hash), None);
        assert!(home.restore_session(&session).unwrap());
        assert_eq!(home.session_files(&session).picture(&gif.hash).as_deref(), Some(GIF));
        assert!(home.delete_session(&session).unwrap());
        assert!(home.purge_session(&session).unwrap());
        assert!(!folder.path().join("sessions/archive/deleted/pictures/s").exists());
    }
}
