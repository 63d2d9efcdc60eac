//! `providers.json`: the providers that a person has connected for themselves on a server of several people. Everything but
//! the keys is readable; a key is bound to the address that it is for, so that a changed file sends it nowhere else.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::error::StoreError;
use super::fence::Claim;
use super::home::Home;
use super::sealed_text::SealedFor;
use super::settings::SettingsFile;
use super::tree::{Tree, TreeChange, TreePath};

const FILE: SettingsFile = SettingsFile::OwnProviders;
/// What the key is for.
const PURPOSE: &str = "keys of providers";
/// Maximum number of providers of a person.
pub const MAX_OWN_PROVIDERS: usize = 20;

/// A provider that a person has connected for themselves.
#[derive(Clone, Debug)]
pub struct OwnProvider {
    pub id: String,
    pub name: String,
    pub base_url: Url,
    /// The form of requests, in the words of config.yml, if the address does not tell it.
    pub api: Option<String>,
    pub api_key: OwnKey,
    /// The names of the models that can be chosen.
    pub models: Vec<String>,
}

/// The key of a provider.
#[derive(Clone, Debug)]
pub enum OwnKey {
    None,
    Set(SecretString),
    /// There is one that does not open: it was sealed by another home or for another address.
    Unreadable,
}

/// The providers of a person, and the id of the model that they use unless a conversation has another one.
#[derive(Clone, Debug, Default)]
pub struct OwnProviders {
    pub providers: Vec<OwnProvider>,
    pub default_model: Option<String>,
}

/// A change of the providers of a person.
#[derive(Clone, Debug)]
pub enum OwnProviderChange {
    Add(OwnProvider),
    Name(String),
    /// Replaces the key; `None` removes it.
    Key(Option<SecretString>),
    Models(Vec<String>),
    Remove,
}

/// Why the providers of a person were not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnProviderRefused {
    #[error("you have no provider {0}")]
    Unknown(String),
    #[error("you have {MAX_OWN_PROVIDERS} providers already; remove one first")]
    TooMany,
    #[error("you have a provider at {0} already")]
    Exists(String),
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    id: String,
    name: String,
    base_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    api: Option<String>,
    /// Nonce, ciphertext and tag in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed_key: Option<String>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// The file. A write keeps fields that this version does not know.
#[derive(Default, Serialize, Deserialize)]
struct ProviderFile {
    #[serde(default)]
    providers: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_model: Option<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Home {
    /// Returns the providers that the person of this home has connected. Read from disk; one whose address is no address is
    /// left out.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is damaged.
    pub fn own_providers(&self) -> Result<OwnProviders, StoreError> {
        let file = parsed(self.settings_bytes(FILE)?.0.as_deref())?;
        let provider = |entry: Entry| {
            let base_url = Url::parse(&entry.base_url).ok()?;
            let api_key = match &entry.sealed_key {
                None => OwnKey::None,
                Some(sealed) => {
                    let bound_to = bound_to(base_url.as_str());
                    let key = self.open_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to }, sealed);
                    key.map_or(OwnKey::Unreadable, OwnKey::Set)
                }
            };
            let Entry { id, name, api, models, .. } = entry;
            Some(OwnProvider { id, name, base_url, api, api_key, models })
        };
        Ok(OwnProviders {
            providers: file.providers.into_iter().filter_map(provider).collect(),
            default_model: file.default_model,
        })
    }

    /// Returns the change of the provider with this id.
    pub(super) fn own_provider_change(
        &self,
        id: &str,
        change: &OwnProviderChange,
    ) -> Result<Option<TreeChange>, StoreError> {
        let seal = |base_url: &str, key: Option<&SecretString>| {
            let bound_to = bound_to(base_url);
            key.map(|key| self.seal_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to }, key)).transpose()
        };
        self.change_own_providers(|file| {
            let refused = |why| Err(StoreError::OwnProvider(why));
            if let OwnProviderChange::Add(new) = change {
                if file.providers.len() >= MAX_OWN_PROVIDERS {
                    return refused(OwnProviderRefused::TooMany);
                }
                if file.providers.iter().any(|known| known.base_url == new.base_url.as_str() || known.id == new.id) {
                    return refused(OwnProviderRefused::Exists(new.base_url.to_string()));
                }
                let OwnProvider { id, name, base_url, api, api_key, models } = new.clone();
                let key = if let OwnKey::Set(key) = &api_key { Some(key) } else { None };
                let base_url = String::from(base_url);
                let sealed_key = seal(&base_url, key)?;
                file.providers.push(Entry { id, name, base_url, api, sealed_key, models, unknown: Map::new() });
                return Ok(());
            }
            let place = file.providers.iter().position(|known| known.id == id);
            let Some(place) = place else { return refused(OwnProviderRefused::Unknown(id.to_owned())) };
            let entry = &mut file.providers[place];
            match change {
                OwnProviderChange::Add(_) => {}
                OwnProviderChange::Name(name) => entry.name.clone_from(name),
                OwnProviderChange::Key(key) => entry.sealed_key = seal(&entry.base_url, key.as_ref())?,
                OwnProviderChange::Models(models) => entry.models.clone_from(models),
                OwnProviderChange::Remove => drop(file.providers.remove(place)),
            }
            Ok(())
        })
    }

    /// Returns the change of the model that the person uses by default; `None` leaves it to the server.
    pub(super) fn own_default_change(&self, model: Option<&str>) -> Result<Option<TreeChange>, StoreError> {
        self.change_own_providers(|file| {
            file.default_model = model.map(str::to_owned);
            Ok(())
        })
    }

    fn change_own_providers(
        &self,
        change: impl FnOnce(&mut ProviderFile) -> Result<(), StoreError>,
    ) -> Result<Option<TreeChange>, StoreError> {
        let (bytes, expect) = self.settings_bytes(FILE)?;
        let mut file = parsed(bytes.as_deref())?;
        change(&mut file)?;
        let mut bytes = serde_json::to_vec_pretty(&file).expect("texts are JSON");
        bytes.push(b'\n');
        Ok(Some(TreeChange::write(TreePath::Settings(FILE), &bytes, expect)))
    }
}

impl Tree {
    /// Changes a provider that the person of this home has connected for themselves.
    ///
    /// # Errors
    /// Returns [`StoreError::OwnProvider`] if there is no such provider, there are too many or it is there already, and
    /// another error if the file cannot be read or written.
    pub async fn change_own_provider(
        &self,
        claim: Claim,
        id: String,
        change: OwnProviderChange,
    ) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.own_provider_change(&id, &change)).await.map(drop)
    }

    /// Chooses the model that the person of this home uses by default; `None` leaves it to the server.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub async fn choose_own_default(&self, claim: Claim, model: Option<String>) -> Result<(), StoreError> {
        self.edit(claim, move |home| home.own_default_change(model.as_deref())).await.map(drop)
    }
}

fn bound_to(base_url: &str) -> Vec<u8> {
    base_url.as_bytes().to_vec()
}

/// A damaged file is left as it is: it may hold the only copy of a key.
fn parsed(bytes: Option<&[u8]>) -> Result<ProviderFile, StoreError> {
    let Some(bytes) = bytes else { return Ok(ProviderFile::default()) };
    let damaged = |error: serde_json::Error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    serde_json::from_slice(bytes).map_err(|error| StoreError::io(format!("reading {}", FILE.name()))(damaged(error)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;

    const KEY: &str = "sk-canary-40f1";

    fn provider(id: &str, url: &str) -> OwnProvider {
        OwnProvider {
            id: id.to_owned(),
            name: "Mine".to_owned(),
            base_url: Url::parse(url).unwrap(),
            api: Some("responses".to_owned()),
            api_key: OwnKey::Set(SecretString::from(KEY)),
            models: vec!["m".to_owned()],
        }
    }

    fn change(home: &Home, id: &str, change: &OwnProviderChange) -> Result<bool, StoreError> {
        home.edit(|home| home.own_provider_change(id, change))
    }

    #[test]
    fn own_key_is_sealed_and_opens_for_its_address_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE.name());
        let home = Home::open(folder.path()).unwrap();
        assert!(home.own_providers().unwrap().providers.is_empty());
        change(&home, "", &OwnProviderChange::Add(provider("a", "https://one.test/v1"))).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(KEY) && text.contains("https://one.test/v1"), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let known = home.own_providers().unwrap().providers.remove(0);
        assert!(matches!(&known.api_key, OwnKey::Set(key) if key.expose_secret() == KEY));

        std::fs::write(&file, text.replace("one.test", "evil.test")).unwrap();
        let known = home.own_providers().unwrap().providers.remove(0);
        assert!(matches!(known.api_key, OwnKey::Unreadable), "the key is for another address");
        std::fs::write(&file, "{").unwrap();
        assert!(change(&home, "a", &OwnProviderChange::Remove).is_err(), "a damaged file is not overwritten");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    }

    #[test]
    fn own_providers_are_changed_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        for number in 0..MAX_OWN_PROVIDERS {
            let new = provider(&format!("p{number}"), &format!("https://h{number}.test/v1"));
            change(&home, "", &OwnProviderChange::Add(new)).unwrap();
        }
        let refused = |done: Result<bool, StoreError>| match done {
            Err(StoreError::OwnProvider(why)) => why,
            other => panic!("{other:?}"),
        };
        let more = OwnProviderChange::Add(provider("more", "https://more.test"));
        assert_eq!(refused(change(&home, "", &more)), OwnProviderRefused::TooMany);
        change(&home, "p3", &OwnProviderChange::Remove).unwrap();
        let again = OwnProviderChange::Add(provider("again", "https://h4.test/v1"));
        assert!(matches!(refused(change(&home, "", &again)), OwnProviderRefused::Exists(_)));
        assert!(matches!(refused(change(&home, "p3", &OwnProviderChange::Key(None))), OwnProviderRefused::Unknown(_)));
        change(&home, "p4", &OwnProviderChange::Key(None)).unwrap();
        change(&home, "p4", &OwnProviderChange::Models(vec!["x".into(), "y".into()])).unwrap();
        change(&home, "p4", &OwnProviderChange::Name("Four".into())).unwrap();
        home.edit(|home| home.own_default_change(Some("own/openai/x"))).unwrap();
        let all = home.own_providers().unwrap();
        let four = all.providers.iter().find(|provider| provider.id == "p4").unwrap();
        assert_eq!((four.name.as_str(), four.models.len()), ("Four", 2));
        assert!(matches!(four.api_key, OwnKey::None));
        assert_eq!((all.providers.len(), all.default_model.as_deref()), (MAX_OWN_PROVIDERS - 1, Some("own/openai/x")));
    }
}
