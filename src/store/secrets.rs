//! `project-secrets.json`: the secrets of the projects. Names are readable; each value is sealed and
//! bound to its project and its name.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::StoreError;
use super::home::Home;
use super::sealed_text::SealedFor;
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
            let value = self.open_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to(id, &name) }, &entry.sealed);
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
        let sealed = self.seal_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to(id, name) }, value)?;
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
    use secrecy::ExposeSecret;
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
