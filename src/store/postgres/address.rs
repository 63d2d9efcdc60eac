//! The address of a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`, which may contain a password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// What the server sees in its list of connections.
const APPLICATION_NAME: &str = "miniclaw";
/// The port of PostgreSQL if an address names none.
const DEFAULT_PORT: u16 = 5432;
/// Maximum time of connecting, with TLS and the sign-in, unless the address says `connect_timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Hosts whose times of connecting count.
const MAX_HOSTS: u32 = 8;
/// A connection on which nothing comes is probed, so that one that was cut without a word is known to be gone after half a minute.
const KEEPALIVE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 4;
/// What an address has that says nothing about it.
const LIBRARY_KEEPALIVE: Duration = Duration::from_secs(2 * 60 * 60);
/// Maximum time that data waits for a confirmation of the other machine, unless the address says `tcp_user_timeout`.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a database is, and how to sign in. Never shows the password.
#[derive(Clone)]
pub struct DatabaseAddress {
    config: Config,
    encryption: Encryption,
}

/// How a connection is encrypted: `sslmode` of the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// `disable`.
    None,
    /// `prefer`: if the server offers it, whatever its certificate is.
    IfOffered,
    /// `require`: whatever the certificate is. Protects from whoever only listens.
    Unverified,
    /// `verify-full`: with a certificate for the host, issued by an authority of this system or of this file.
    Verified { authorities: Option<PathBuf> },
}

/// Why a text is not the address of a database. Contains nothing of the text, which may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error(
        "it is not an address of a PostgreSQL database; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special \
         characters of the password as %XX"
    )]
    Unreadable,
    #[error("it names no database; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoDatabase,
    #[error("it names no user; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoUser,
    #[error("it names no host; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoHost,
    #[error("sslmode must be disable, prefer, require or verify-full")]
    Mode,
    #[error("sslrootcert needs sslmode=verify-full; without it, the certificate would not be checked")]
    UncheckedAuthority,
}

/// A database and the user to sign in as, in single fields.
pub struct DatabaseLogin {
    pub host: String,
    pub port: Option<u16>,
    pub user: String,
    pub password: Option<SecretString>,
    pub database: String,
}

impl DatabaseAddress {
    /// # Errors
    /// Returns why the text cannot be used, without any part of it.
    pub fn parse(text: &SecretString) -> Result<Self, BadAddress> {
        let text = text.expose_secret();
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(BadAddress::Unreadable);
        }
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        let mut mode = None;
        let mut authorities = None;
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(decoded(value)?)),
                _ => rest.push(pair),
            }
        }
        let text = if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) };
        let config: Config = text.parse().map_err(|_| BadAddress::Unreadable)?;
        Self::of(config, (mode, authorities))
    }

    /// # Errors
    /// Returns an error if the host, the user or the database has no name.
    pub fn of_login(login: DatabaseLogin) -> Result<Self, BadAddress> {
        let mut config = Config::new();
        if !login.host.is_empty() {
            config.host(&login.host).port(login.port.unwrap_or(DEFAULT_PORT));
        }
        if !login.user.is_empty() {
            config.user(&login.user);
        }
        if !login.database.is_empty() {
            config.dbname(&login.database);
        }
        if let Some(password) = login.password {
            config.password(password.expose_secret());
        }
        Self::of(config, (None, None))
    }

    fn of(mut config: Config, (mode, authorities): (Option<&str>, Option<PathBuf>)) -> Result<Self, BadAddress> {
        let is_named = |host: &Host| !matches!(host, Host::Tcp(name) if name.is_empty());
        if config.get_hosts().is_empty() || !config.get_hosts().iter().all(is_named) {
            return Err(BadAddress::NoHost);
        }
        if config.get_user().is_none_or(str::is_empty) {
            return Err(BadAddress::NoUser);
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(BadAddress::NoDatabase);
        }
        let stays_here = config.get_hosts().iter().all(is_this_machine) && config.get_hostaddrs().is_empty();
        let encryption = match (mode, stays_here) {
            (Some("disable"), _) => Encryption::None,
            (Some("prefer"), _) | (None, true) => Encryption::IfOffered,
            (Some("require"), _) => Encryption::Unverified,
            (Some("verify-full"), _) | (None, false) => Encryption::Verified { authorities: authorities.clone() },
            (Some(_), _) => return Err(BadAddress::Mode),
        };
        if authorities.is_some() && !matches!(encryption, Encryption::Verified { .. }) {
            return Err(BadAddress::UncheckedAuthority);
        }
        config.ssl_mode(match encryption {
            Encryption::None => SslMode::Disable,
            Encryption::IfOffered => SslMode::Prefer,
            Encryption::Unverified | Encryption::Verified { .. } => SslMode::Require,
        });
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION_NAME);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_keepalives_idle() == LIBRARY_KEEPALIVE {
            config
                .keepalives_idle(KEEPALIVE)
                .keepalives_interval(KEEPALIVE_INTERVAL)
                .keepalives_retries(KEEPALIVE_RETRIES);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        if config.get_hosts().len() > 1 {
            // Of a primary and its standbys, only the primary is of use.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self { config, encryption })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the maximum time of connecting. `connect_timeout` of the address counts, as everywhere, for all of it, and for each
    /// host.
    pub(super) fn connect_limit(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1).clamp(1, MAX_HOSTS);
        hosts * self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }

    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }
}

/// Without the password and without other parameters: `user@host:port/database`.
impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        write!(f, "{}@", config.get_user().unwrap_or_default())?;
        for (at, host) in config.get_hosts().iter().enumerate() {
            let port = config.get_ports().get(at).or(config.get_ports().first()).copied().unwrap_or(DEFAULT_PORT);
            let comma = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "{comma}[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                Host::Unix(folder) => write!(f, "{comma}{}:{port}", folder.display())?,
            }
        }
        write!(f, "/{}", config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseAddress({self}, {:?})", self.encryption)
    }
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
    }
}

fn decoded(text: &str) -> Result<String, BadAddress> {
    // Of a form, `+` would be a space.
    let text = text.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).ok_or(BadAddress::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<DatabaseAddress, BadAddress> {
        DatabaseAddress::parse(&SecretString::from(text.to_owned()))
    }

    #[test]
    fn encryption_is_what_the_address_says() {
        let authorities = |path: &str| Encryption::Verified { authorities: Some(PathBuf::from(path)) };
        for (text, expected) in [
            ("postgres://u:p@db.example/d?sslmode=disable", Encryption::None),
            ("postgres://u:p@db.example/d?sslmode=prefer", Encryption::IfOffered),
            ("postgresql://u:p@db.example/d?sslmode=require", Encryption::Unverified),
            ("postgres://u:p@db.example/d?sslmode=verify-full", Encryption::Verified { authorities: None }),
            ("postgres://u:p@db.example/d?sslrootcert=/etc/ca.pem&connect_timeout=3", authorities("/etc/ca.pem")),
            ("postgres://u:p@h/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem", authorities("/a b.pem")),
            // Without a word about it: checked, unless the connection stays on this machine.
            ("postgres://u:p@db.example/d", Encryption::Verified { authorities: None }),
            ("postgres://u:p@10.0.0.5:6000/d", Encryption::Verified { authorities: None }),
            ("postgres://u:p@localhost,db.example/d", Encryption::Verified { authorities: None }),
            ("postgres://u:p@localhost/d?hostaddr=10.0.0.5", Encryption::Verified { authorities: None }),
            ("postgres://u:p@127.0.0.1/d", Encryption::IfOffered),
            ("postgres://u:p@[::1]/d", Encryption::IfOffered),
            ("postgres://u@%2Frun%2Fpostgresql/d", Encryption::IfOffered),
        ] {
            assert_eq!(address(text).map(|read| read.encryption), Ok(expected), "{text}");
        }
    }

    #[test]
    fn wrong_addresses_are_refused_without_their_text() {
        for (text, expected) in [
            ("", BadAddress::Unreadable),
            ("mysql://u:canary@h/d", BadAddress::Unreadable),
            ("host=h user=u password=canary", BadAddress::Unreadable),
            ("postgres://u:canary@h:many/d", BadAddress::Unreadable),
            ("postgres://u:canary@h/d?canary=1", BadAddress::Unreadable),
            ("postgres://u:canary@h", BadAddress::NoDatabase),
            ("postgres://h/d", BadAddress::NoUser),
            ("postgres:///d?user=u", BadAddress::NoHost),
            ("postgres://u:canary@h/d?sslmode=verify-ca", BadAddress::Mode),
            ("postgres://u:canary@h/d?sslmode=canary", BadAddress::Mode),
            ("postgres://u:canary@h/d?sslmode=require&sslrootcert=/ca.pem", BadAddress::UncheckedAuthority),
        ] {
            let error = address(text).unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn of_several_hosts_the_primary_is_looked_for() {
        let read = address("postgres://u:p@a.example:6000,b.example:6001/d?connect_timeout=3").unwrap();
        assert_eq!(read.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(read.connect_limit(), Duration::from_secs(6));
        assert_eq!(read.to_string(), "u@a.example:6000,b.example:6001/d");
        let read = address("postgres://u:p@a.example/d?target_session_attrs=read-write").unwrap();
        assert_eq!(read.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(address("postgres://u:p@a.example/d").unwrap().connect_limit(), CONNECT_TIMEOUT);
    }

    #[test]
    fn address_never_shows_its_password() {
        let read = address("postgres://ada:c%2Fanary@db.example:6000/home?options=-c%20canary%3D1").unwrap();
        assert_eq!(read.to_string(), "ada@db.example:6000/home");
        assert_eq!(read.config.get_password(), Some(b"c/anary".as_slice()));
        assert!(!format!("{read:?}").contains("anary"), "{read:?}");
        let login = DatabaseLogin {
            host: "::1".to_owned(),
            port: None,
            user: "ada".to_owned(),
            password: Some(SecretString::from("p@ss/word?")),
            database: "home".to_owned(),
        };
        let read = DatabaseAddress::of_login(login).unwrap();
        assert_eq!(read.to_string(), "ada@[::1]:5432/home");
        assert_eq!(read.config.get_password(), Some(b"p@ss/word?".as_slice()));
    }
}
