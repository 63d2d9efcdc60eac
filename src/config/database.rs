//! `store` in config.yml: a database in which a home is kept. The fields `db_host`, … of the NanoClaw document mean the same.

use std::fmt;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{ConfigError, Environment, File, bad, substitute};
use crate::store::{
    AuthoritiesUnusable, BadAddress, DatabaseAddress, DatabaseLogin, HomeDatabase, LossPolicy, trusted_authorities,
};

/// A database in which homes are kept.
#[derive(Clone, Debug)]
pub struct DatabaseConfig {
    pub address: DatabaseAddress,
    /// The folder of copies of homes; `None` for the folder with config.yml, which is then the copy. A relative path is beneath
    /// that folder.
    pub cache: Option<PathBuf>,
    pub loss: LossPolicy,
    /// Set if several servers share the database.
    pub cluster: Option<ClusterConfig>,
}

/// What makes a server a member of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Where the other servers reach this one: `http://10.0.0.5:8002` or `https://…`, without a path.
    pub address: String,
    /// The file with the certificates of the authorities that the others are known by; `None` for those of the system. A relative path
    /// is beneath the folder with config.yml.
    pub authorities: Option<PathBuf>,
    /// What the servers know each other by; the same for all.
    pub secret: SecretString,
}

/// Minimum length of the secret of a cluster, in characters.
const MIN_SECRET: usize = 32;

impl ClusterConfig {
    /// Returns the same for a config.yml in `folder`.
    #[must_use]
    pub fn beneath(self, folder: &Path) -> Self {
        Self { authorities: self.authorities.map(|file| folder.join(file)), ..self }
    }

    /// Whether the other servers reach this one over TLS.
    pub fn is_over_tls(&self) -> bool {
        self.address.starts_with("https:")
    }

    /// Returns the authorities whose certificates the other servers may have. Without a file and over plain HTTP there may be none.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn trusted(&self) -> Result<RootCertStore, AuthoritiesUnusable> {
        match trusted_authorities(self.authorities.as_deref()) {
            Err(AuthoritiesUnusable::None) if !self.is_over_tls() => Ok(RootCertStore::empty()),
            read => read,
        }
    }
}

impl DatabaseConfig {
    /// Returns the database of the homes, with connections of its own.
    pub fn homes(&self) -> HomeDatabase {
        HomeDatabase::new(self.address.clone(), self.loss)
    }

    /// Returns the folder of the server's own home, for a config.yml in `folder`.
    pub fn own_home(&self, folder: &Path) -> PathBuf {
        self.cache.as_ref().map_or_else(|| folder.to_owned(), |cache| folder.join(cache).join("home"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    postgres: SecretString,
    cache: Option<PathBuf>,
    #[serde(default)]
    accept_loss: bool,
    /// These three are of a cluster; see [`ClusterConfig`].
    address: Option<String>,
    cluster_secret: Option<SecretString>,
    cluster_ca: Option<PathBuf>,
}

/// A field of the NanoClaw document, read only if its database is used. It may be a password, so it is never shown.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct DocumentField(Value);

impl fmt::Debug for DocumentField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DocumentField(…)")
    }
}

/// # Errors
/// Returns an error if the address cannot be used, names a variable that is not set, or is there twice. No part of the address
/// is in it.
pub(super) fn database(file: &File, environment: &Environment) -> Result<Option<DatabaseConfig>, ConfigError> {
    match (&file.store, is_named_by_document(file)) {
        (None, false) => Ok(None),
        (Some(_), true) => {
            Err(bad("config.yml", "store and db_type name a database each; remove db_type and the other db_ fields"))
        }
        (Some(entry), false) => of_entry(entry, environment).map(Some),
        (None, true) => of_document(file, environment).map(Some),
    }
}

fn is_named_by_document(file: &File) -> bool {
    matches!(file.db_type.as_deref().map(str::trim), Some("postgresql" | "postgres"))
}

fn of_entry(entry: &Entry, environment: &Environment) -> Result<DatabaseConfig, ConfigError> {
    let text =
        substitute(entry.postgres.expose_secret(), environment).map_err(|name| unset("store.postgres", &name))?;
    let address = DatabaseAddress::parse(&SecretString::from(text)).map_err(|error| wrong("store.postgres", &error))?;
    let loss = if entry.accept_loss { LossPolicy::Accept } else { LossPolicy::Refuse };
    let cluster = match (&entry.address, &entry.cluster_secret, &entry.cluster_ca) {
        (None, None, None) => None,
        (Some(own), Some(secret), ca) => Some(of_cluster(own, secret, ca.clone(), environment)?),
        _ => {
            let reason = "store: a server of a cluster needs both address and cluster_secret; one without a cluster needs none of \
                          address, cluster_secret and cluster_ca";
            return Err(bad("config.yml", reason));
        }
    };
    Ok(DatabaseConfig { address, cache: entry.cache.clone(), loss, cluster })
}

fn of_cluster(
    address: &str,
    secret: &SecretString,
    authorities: Option<PathBuf>,
    environment: &Environment,
) -> Result<ClusterConfig, ConfigError> {
    const ADDRESS: &str = "store.address";
    const SECRET: &str = "store.cluster_secret";
    let text = substitute(address, environment).map_err(|name| unset(ADDRESS, &name))?;
    let url = Url::parse(text.trim()).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    let is_bare = |url: &Url| {
        let is_plain = url.username().is_empty() && url.password().is_none();
        is_plain && url.host().is_some() && url.path() == "/" && url.query().is_none() && url.fragment().is_none()
    };
    let address = url.filter(is_bare).map(|url| url.as_str().trim_end_matches('/').to_owned());
    let address = address.ok_or_else(|| {
        bad(
            "config.yml",
            format!(
                "{ADDRESS}: it is where the other servers reach this one, such as http://10.0.0.5:8002 or \
                 https://one.example:8002"
            ),
        )
    })?;
    let secret = substitute(secret.expose_secret(), environment).map_err(|name| unset(SECRET, &name))?;
    if secret.chars().count() < MIN_SECRET {
        let reason = format!("{SECRET}: it needs at least {MIN_SECRET} random characters, the same on all servers");
        return Err(bad("config.yml", reason));
    }
    Ok(ClusterConfig { address, authorities, secret: secret.into() })
}

fn of_document(file: &File, environment: &Environment) -> Result<DatabaseConfig, ConfigError> {
    let text = |name: &str, field: &Option<DocumentField>| match field.as_ref().map(|field| &field.0) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            substitute(text, environment).map(Some).map_err(|unset_one| unset(name, &unset_one))
        }
        Some(_) => Err(bad("config.yml", format!("{name}: write it in quotes"))),
    };
    let port = match file.db_port.as_ref().map(|field| &field.0) {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
            let port = number.and_then(|number| u16::try_from(number).ok()).filter(|port| *port > 0);
            Some(port.ok_or_else(|| bad("config.yml", "db_port: it is the port of the database, for example 5432"))?)
        }
    };
    let login = DatabaseLogin {
        host: text("db_host", &file.db_host)?.unwrap_or_else(|| "localhost".to_owned()),
        port,
        user: text("db_user", &file.db_user)?.unwrap_or_default(),
        password: text("db_password", &file.db_password)?.filter(|text| !text.is_empty()).map(SecretString::from),
        database: text("db_name", &file.db_name)?.unwrap_or_default(),
    };
    let address = DatabaseAddress::of_login(login).map_err(|error| match error {
        BadAddress::NoUser => bad("config.yml", "db_user: it names the user of the database"),
        BadAddress::NoDatabase => bad("config.yml", "db_name: it names the database"),
        other => wrong("db_host", &other),
    })?;
    Ok(DatabaseConfig { address, cache: None, loss: LossPolicy::Refuse, cluster: None })
}

fn wrong(field: &str, error: &BadAddress) -> ConfigError {
    bad("config.yml", format!("{field}: {error}"))
}

fn unset(field: &str, variable: &str) -> ConfigError {
    bad("config.yml", format!("{field} names the variable {variable}, which is not set"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;
    use super::*;

    fn database(text: &str, variables: &[(&str, &str)]) -> Result<Option<DatabaseConfig>, String> {
        load(&[("config.yml", text)], variables).map(|config| config.database).map_err(|error| error.to_string())
    }

    #[test]
    fn store_names_a_database_and_a_cache() {
        assert!(database("port: 1\n", &[]).unwrap().is_none());
        let url = ("DATABASE_URL", "postgres://ada:canary@db.example:6000/homes");
        let read = database("store: {postgres: '${DATABASE_URL}'}\n", &[url]).unwrap().unwrap();
        assert_eq!(read.address.to_string(), "ada@db.example:6000/homes");
        assert_eq!(read.own_home(Path::new("/srv")), Path::new("/srv"));
        assert_eq!(read.loss, LossPolicy::Refuse);
        assert!(!format!("{read:?}").contains("canary"), "{read:?}");
        let all = "store: {postgres: 'postgres://a:b@h/d', cache: /var/cache/miniclaw, accept_loss: true}\n";
        let read = database(all, &[]).unwrap().unwrap();
        assert_eq!(read.own_home(Path::new("/srv")), Path::new("/var/cache/miniclaw/home"));
        assert_eq!(read.loss, LossPolicy::Accept);
    }

    #[test]
    fn member_of_a_cluster_needs_address_and_secret() {
        let store = |cluster: &str| format!("store: {{postgres: 'postgres://a:b@h/d', {cluster}}}\n");
        let secret = "canary-0123456789-0123456789-0123";
        let variables = [("CLUSTER_SECRET", secret)];
        let good = store("address: 'http://10.0.0.5:8002/', cluster_secret: '${CLUSTER_SECRET}'");
        let read = database(&good, &variables).unwrap().unwrap();
        assert!(!format!("{read:?}").contains("canary"), "{read:?}");
        let cluster = read.cluster.unwrap();
        assert_eq!((cluster.address.as_str(), cluster.secret.expose_secret()), ("http://10.0.0.5:8002", secret));
        assert!(!cluster.is_over_tls() && cluster.authorities.is_none());
        let over_tls = store("address: 'https://one.example', cluster_secret: '${CLUSTER_SECRET}', cluster_ca: ca.pem");
        let cluster = database(&over_tls, &variables).unwrap().unwrap().cluster.unwrap().beneath(Path::new("/home"));
        assert!(cluster.is_over_tls() && cluster.authorities == Some(PathBuf::from("/home/ca.pem")));
        for (cluster, words) in [
            ("address: 'http://a:1'", "both address and cluster_secret"),
            ("cluster_secret: '${CLUSTER_SECRET}'", "both address and cluster_secret"),
            ("cluster_ca: ca.pem", "both address and cluster_secret"),
            ("address: 'http://a:1', cluster_secret: 'canary-too-short'", "at least 32"),
            ("address: 'http://a:1', cluster_secret: '${NOT_SET}'", "the variable NOT_SET"),
            ("address: 'ftp://a:1', cluster_secret: '${CLUSTER_SECRET}'", "store.address"),
            ("address: 'http://a:1/path', cluster_secret: '${CLUSTER_SECRET}'", "store.address"),
            ("address: 'http://canary:x@a:1', cluster_secret: '${CLUSTER_SECRET}'", "store.address"),
        ] {
            let error = database(&store(cluster), &variables).unwrap_err();
            assert!(error.contains(words) && !error.contains("canary"), "{cluster}: {error}");
        }
    }

    #[test]
    fn fields_of_the_document_name_a_database_too() {
        let file = "db_type: postgresql\ndb_host: db.example\ndb_port: 6000\ndb_user: ada\ndb_password: '${SECRET}'\n\
                    db_name: nano_claw\n";
        let read = database(file, &[("SECRET", "c@n/ary?")]).unwrap().unwrap();
        assert_eq!(read.address.to_string(), "ada@db.example:6000/nano_claw");
        let short = database("db_type: postgres\ndb_user: ada\ndb_name: d\ndb_port: '5433'\n", &[]).unwrap().unwrap();
        assert_eq!(short.address.to_string(), "ada@localhost:5433/d");
        let sqlite = "db_type: sqlite\ndb_host: [1]\ndb_password: 007\ndb_port: many\n";
        assert!(database(sqlite, &[]).unwrap().is_none(), "fields of another database are not read");
    }

    #[test]
    fn wrong_databases_are_refused_without_the_password() {
        for (text, words) in [
            ("store: {postgres: 'postgres://a:canary@h'}", "store.postgres: it names no database"),
            ("store: {postgres: 'mysql://a:canary@h/d'}", "store.postgres: it is not an address"),
            ("store: {postgres: 'postgres://a:${NOT_SET}@h/canary'}", "the variable NOT_SET"),
            ("store: {postgres: 'postgres://a:canary@h/d', redis: x}", "redis"),
            ("store: {cache: canary}", "postgres"),
            ("store: {postgres: 'postgres://a:canary@h/d'}\ndb_type: postgresql", "remove db_type"),
            ("db_type: postgresql\ndb_password: canary\ndb_name: d", "db_user"),
            ("db_type: postgresql\ndb_password: canary\ndb_user: a", "db_name"),
            ("db_type: postgresql\ndb_password: 7\ndb_user: a\ndb_name: d", "db_password: write it in quotes"),
            ("db_type: postgresql\ndb_port: 70000\ndb_user: a\ndb_name: d", "db_port"),
        ] {
            let error = database(&format!("{text}\n"), &[]).unwrap_err();
            assert!(error.contains(words) && !error.contains("canary"), "{text}: {error}");
        }
    }
}
