//! `project-secrets.json`: the secrets of the projects. Names are readable; each value is sealed (ChaCha20-Poly1305) with a key
//! that is derived from `session-key.json`, and bound to its project and its name.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::StoreError;
use super::home::Home;
use super::settings::SettingsFile;
use super::tree::{TreeChange, TreePath};
use crate::clock;
use crate::domain::secret::MAX_SECRETS;
use crate::domain::{ProjectId, Root, SecretName, SecretRefused};

const FILE: SettingsFile = SettingsFile::Secrets;
/// What the key is for.
const PURPOSE: &str = "secrets of projects";

/// A secret without its value.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSecret {
    pub name: SecretName,
    /// When it was set, in Unix seconds.
    pub updated_at: f64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    /// Nonce, ciphertext and tag in base64.
    sealed: String,
    updated_at: f64,
}

/// The file. A write keeps fields that this version does not know.
#[derive(Default, Serialize, Deserialize)]
struct SecretFile {
    #[serde(default)]
    projects: BTreeMap<String, BTreeMap<String, Entry>>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Home {
    /// Returns the secrets of a project, by name, without their values. Read from disk.
    pub fn project_secrets(&self, id: &ProjectId) -> Vec<StoredSecret> {
        let file = self.secret_file().unwrap_or_default();
        let entries = file.projects.get(id.as_str()).into_iter().flatten();
        let secret = |(name, entry): (&String, &Entry)| {
            Some(StoredSecret { name: SecretName::parse(name).ok()?, updated_at: entry.updated_at })
        };
        entries.filter_map(secret).collect()
    }

    /// Returns all secrets of a project by name, with their values; `None` for one that the key of this home does not open.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn open_secrets(&self, id: &ProjectId) -> Result<Vec<(SecretName, Option<SecretString>)>, StoreError> {
        let file = self.secret_file()?;
        let entries = file.projects.get(id.as_str()).into_iter().flatten();
        let open = |(name, entry): (&String, &Entry)| {
            let name = SecretName::parse(name).map_err(StoreError::Secret)?;
            let value = self.opened(id, &name, &entry.sealed);
            Ok((name, value))
        };
        entries.map(open).collect()
    }

    /// Returns the change that sets a secret.
    pub(super) fn secret_change(
        &self,
        id: &ProjectId,
        name: &SecretName,
        value: &SecretString,
    ) -> Result<Option<TreeChange>, StoreError> {
        self.require_writable(&Root::Project(id.clone()))?;
        let sealed = self.sealed(id, name, value.expose_secret())?;
        self.change_secrets(|file| {
            let secrets = file.projects.entry(id.as_str().to_owned()).or_default();
            if secrets.len() >= MAX_SECRETS && !secrets.contains_key(name.as_str()) {
                return Err(StoreError::Secret(SecretRefused::TooMany));
            }
            secrets.insert(name.as_str().to_owned(), Entry { sealed, updated_at: clock::now() });
            Ok(())
        })
    }

    /// Returns the change that removes a secret.
    pub(super) fn secret_removal(&self, id: &ProjectId, name: &SecretName) -> Result<Option<TreeChange>, StoreError> {
        self.require_writable(&Root::Project(id.clone()))?;
        self.change_secrets(|file| {
            let missing = || StoreError::Secret(SecretRefused::Unknown(name.to_string()));
            let secrets = file.projects.get_mut(id.as_str()).ok_or_else(missing)?;
            secrets.remove(name.as_str()).ok_or_else(missing)?;
            if secrets.is_empty() {
                file.projects.remove(id.as_str());
            }
            Ok(())
        })
    }

    fn change_secrets(
        &self,
        change: impl FnOnce(&mut SecretFile) -> Result<(), StoreError>,
    ) -> Result<Option<TreeChange>, StoreError> {
        let (bytes, expect) = self.settings_bytes(FILE)?;
        let mut file = parsed(bytes.as_deref())?;
        change(&mut file)?;
        let mut bytes = serde_json::to_vec_pretty(&file).expect("texts and numbers are JSON");
        bytes.push(b'\n');
        Ok(Some(TreeChange::write(TreePath::Settings(FILE), &bytes, expect)))
    }

    /// # Errors
    /// Returns an error for a damaged file, which is left as it is: it may hold the only copy of a secret.
    fn secret_file(&self) -> Result<SecretFile, StoreError> {
        parsed(self.settings_bytes(FILE)?.0.as_deref())
    }

    fn secret_key(&self) -> LessSafeKey {
        let key = self.seal().derived_key(PURPOSE);
        LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).expect("the key has 32 bytes"))
    }

    fn sealed(&self, id: &ProjectId, name: &SecretName, value: &str) -> Result<String, StoreError> {
        let failed = |_| StoreError::io("sealing a secret")(std::io::Error::other("the system has no random numbers"));
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut bytes = value.as_bytes().to_vec();
        let bound = Aad::from(bound_to(id, name));
        let key = self.secret_key();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut bytes).map_err(failed)?;
        Ok(STANDARD.encode([nonce.as_slice(), &bytes].concat()))
    }

    fn opened(&self, id: &ProjectId, name: &SecretName, sealed: &str) -> Option<SecretString> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, bytes) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = bytes.to_vec();
        let bound = Aad::from(bound_to(id, name));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let value = self.secret_key().open_in_place(nonce, bound, &mut bytes).ok()?;
        Some(SecretString::from(std::str::from_utf8(value).ok()?))
    }
}

fn bound_to(id: &ProjectId, name: &SecretName) -> Vec<u8> {
    format!("{}\0{name}", id.as_str()).into_bytes()
}

fn parsed(bytes: Option<&[u8]>) -> Result<SecretFile, StoreError> {
    let Some(bytes) = bytes else { return Ok(SecretFile::default()) };
    let damaged = |error: serde_json::Error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    serde_json::from_slice(bytes).map_err(|error| StoreError::io(format!("reading {}", FILE.name()))(damaged(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const VALUE: &str = "sk-canary-9b1e7c";

    fn set(home: &Home, id: &ProjectId, name: &str, value: &str) -> Result<bool, StoreError> {
        let name = SecretName::parse(name).unwrap();
        home.edit(|home| home.secret_change(id, &name, &SecretString::from(value)))
    }

    fn values(home: &Home, id: &ProjectId) -> Vec<(String, String)> {
        let opened = home.open_secrets(id).unwrap();
        let text = |value: SecretString| value.expose_secret().to_owned();
        opened.into_iter().map(|(name, value)| (name.to_string(), text(value.unwrap()))).collect()
    }

    #[test]
    fn secret_is_sealed_and_bound_to_its_project_and_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE.name());
        let (one, two) = (ProjectId::parse("one").unwrap(), ProjectId::parse("two").unwrap());
        {
            let home = Home::open(folder.path()).unwrap();
            set(&home, &one, "B", "another value").unwrap();
            set(&home, &one, "A", "first value").unwrap();
            set(&home, &one, "A", VALUE).unwrap();
            assert!(values(&home, &two).is_empty());
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(VALUE) && !text.contains("another"), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let home = Home::open(folder.path()).unwrap();
        let expected = [("A", VALUE), ("B", "another value")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(values(&home, &one), expected);
        let names: Vec<String> = home.project_secrets(&one).iter().map(|secret| secret.name.to_string()).collect();
        assert_eq!(names, ["A", "B"]);

        // A value that is moved to another name or project does not open.
        let moved: Value = serde_json::from_str(&text).unwrap();
        for (project, name) in [("one", "C"), ("two", "A")] {
            let mut moved = moved.clone();
            moved["projects"][project][name] = moved["projects"]["one"]["A"].clone();
            std::fs::write(&file, moved.to_string()).unwrap();
            let opened = home.open_secrets(&ProjectId::parse(project).unwrap()).unwrap();
            let (_, value) = opened.into_iter().find(|(known, _)| known.as_str() == name).unwrap();
            assert!(value.is_none(), "{project} {name}");
        }
        std::fs::write(&file, "{").unwrap();
        assert!(set(&home, &one, "D", VALUE).is_err(), "a damaged file is not overwritten");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    }

    #[test]
    fn secrets_are_removed_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let (home, id) = (Home::open(folder.path()).unwrap(), ProjectId::scratch());
        let remove = |name: &str| home.edit(|home| home.secret_removal(&id, &SecretName::parse(name).unwrap()));
        assert!(matches!(remove("A"), Err(StoreError::Secret(SecretRefused::Unknown(_)))));
        for at in 0..MAX_SECRETS {
            set(&home, &id, &format!("A{at}"), VALUE).unwrap();
        }
        assert!(matches!(set(&home, &id, "B", VALUE), Err(StoreError::Secret(SecretRefused::TooMany))));
        set(&home, &id, "A0", "replaced value").unwrap();
        for at in 0..MAX_SECRETS {
            remove(&format!("A{at}")).unwrap();
        }
        assert!(home.project_secrets(&id).is_empty());
    }
}
