//! The commands that may currently use the proxy, each with its own credentials and a list of the hosts it tried to
//! reach.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::domain::egress::{MAX_HOSTS, short};
use crate::domain::{EgressAttempt, EgressAttempts, EgressGrant};

/// User name of every grant; the passwords distinguish them.
const USER: &str = "job";
/// Maximum simultaneous connections of all commands of a person.
const MAX_CONNECTIONS: usize = 128;
type Digest32 = [u8; 32];

/// All grants, keyed by the digest of their credentials, so that the time of a lookup reveals nothing about a secret.
#[derive(Clone, Default)]
pub struct EgressGrants {
    known: Arc<Mutex<HashMap<Digest32, Arc<GrantState>>>>,
    /// What is left of the connections of each person.
    left: Arc<Mutex<HashMap<Option<u32>, Arc<Semaphore>>>>,
}

/// The proxy's state for one command.
pub struct GrantState {
    /// One for each connection that the commands of its person may have at once.
    pub connections: Arc<Semaphore>,
    /// Cancelled when the grant ends or is suspended; absent while it is suspended.
    grant: Mutex<Option<CancellationToken>>,
    log: Mutex<AttemptLog>,
    /// The only hosts that it may reach; absent if it may reach all public ones.
    hosts: Mutex<Option<Vec<String>>>,
}

/// The hosts that a command requested since the log was last taken.
#[derive(Default)]
struct AttemptLog {
    hosts: BTreeMap<String, HostAttempts>,
    more: u64,
}

/// Results of the attempts to reach a host. Neither is set while the first attempt is in progress.
#[derive(Clone, Copy, Default)]
struct HostAttempts {
    connected: bool,
    refused: bool,
}

/// How an attempt to reach a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Connected,
    EgressRefusal,
}

impl GrantState {
    fn granted(connections: Arc<Semaphore>) -> Self {
        Self {
            connections,
            grant: Mutex::new(Some(CancellationToken::new())),
            log: Mutex::default(),
            hosts: Mutex::default(),
        }
    }

    /// Returns whether it may reach this host, by its name in lower case and its port.
    pub fn may_reach(&self, name: &str, port: u16) -> bool {
        let is_named = |host: &String| *host == name || *host == format!("{name}:{port}");
        whole(&self.hosts).as_ref().is_none_or(|hosts| hosts.iter().any(is_named))
    }

    /// Returns the token of the grant, which is cancelled when the grant ends; `None` while it is suspended.
    pub fn grant(&self) -> Option<CancellationToken> {
        whole(&self.grant).clone()
    }

    /// Records the start of an attempt, which is listed from then on, even if its grant ends first.
    pub fn begin(&self, host: &str) {
        let mut log = whole(&self.log);
        let host = short(host);
        if log.hosts.len() < MAX_HOSTS || log.hosts.contains_key(host) {
            log.hosts.entry(host.to_owned()).or_default();
        } else {
            log.more = log.more.saturating_add(1);
        }
    }

    pub fn end(&self, host: &str, attempt: AttemptOutcome) {
        if let Some(attempts) = whole(&self.log).hosts.get_mut(short(host)) {
            match attempt {
                AttemptOutcome::Connected => attempts.connected = true,
                AttemptOutcome::EgressRefusal => attempts.refused = true,
            }
        }
    }

    fn take(&self) -> EgressAttempts {
        let AttemptLog { hosts, more } = std::mem::take(&mut *whole(&self.log));
        let attempts = hosts.into_iter().flat_map(|(host, attempts)| {
            let connected = attempts.connected.then(|| EgressAttempt { host: host.clone(), refused: false });
            let refused = (attempts.refused || !attempts.connected).then_some(EgressAttempt { host, refused: true });
            connected.into_iter().chain(refused)
        });
        EgressAttempts { hosts: attempts.collect(), more }
    }
}

/// An issued grant. Dropping it revokes its credentials and closes the connections opened with them.
struct IssuedGrant {
    grants: EgressGrants,
    holder: Arc<GrantState>,
    key: Digest32,
    secret: String,
    port: u16,
}

impl EgressGrants {
    pub fn issue(&self, port: u16, person: Option<u32>) -> Box<dyn EgressGrant> {
        let secret = clock::new_secret();
        let connections =
            whole(&self.left).entry(person).or_insert_with(|| Arc::new(Semaphore::new(MAX_CONNECTIONS))).clone();
        let (key, holder) = (digest(&format!("{USER}:{secret}")), Arc::new(GrantState::granted(connections)));
        whole(&self.known).insert(key, holder.clone());
        Box::new(IssuedGrant { grants: self.clone(), holder, key, secret, port })
    }

    /// Returns the holder of these credentials, also while the grant is suspended.
    pub fn holder(&self, credentials: &str) -> Option<Arc<GrantState>> {
        whole(&self.known).get(&digest(credentials)).cloned()
    }
}

impl EgressGrant for IssuedGrant {
    fn port(&self) -> u16 {
        self.port
    }

    fn proxy(&self) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}", self.secret, self.port)
    }

    fn limit_to(&self, hosts: Vec<String>) {
        let hosts = hosts.iter().map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect();
        *whole(&self.holder.hosts) = Some(hosts);
    }

    fn suspend(&self) {
        if let Some(grant) = whole(&self.holder.grant).take() {
            grant.cancel();
        }
    }

    fn resume(&self) {
        whole(&self.holder.grant).get_or_insert_default();
    }

    fn take_attempts(&self) -> EgressAttempts {
        self.holder.take()
    }
}

impl Drop for IssuedGrant {
    fn drop(&mut self) {
        whole(&self.grants.known).remove(&self.key);
        self.suspend();
    }
}

fn digest(text: &str) -> Digest32 {
    Sha256::digest(text).into()
}

/// Ignores poisoning: maps and sets are consistent between any two operations on them.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::egress::MAX_NAME;

    #[test]
    fn connections_are_counted_for_each_person() {
        let grants = EgressGrants::default();
        let [one, again, other] = [Some(1), Some(1), Some(2)].map(|person| {
            let grant = grants.issue(1, person);
            let holder = grants.holder(grant.proxy().split(['/', '@']).nth(2).unwrap()).unwrap();
            (grant, holder)
        });
        let all = one.1.connections.clone().try_acquire_many_owned(MAX_CONNECTIONS as u32).unwrap();
        assert!(again.1.connections.try_acquire().is_err() && other.1.connections.try_acquire().is_ok());
        drop(all);
        assert!(again.1.connections.try_acquire().is_ok());
    }

    #[test]
    fn limited_grant_reaches_its_hosts_only() {
        let grants = EgressGrants::default();
        let grant = grants.issue(1, None);
        let holder = grants.holder(grant.proxy().split(['/', '@']).nth(2).unwrap()).unwrap();
        assert!(holder.may_reach("example.com", 443));
        grant.limit_to(vec!["API.example.com".to_owned(), "other.test:8443".to_owned()]);
        for (name, port, may) in [
            ("api.example.com", 443, true),
            ("example.com", 443, false),
            ("x.api.example.com", 443, false),
            ("other.test", 8443, true),
            ("other.test", 443, false),
        ] {
            assert_eq!(holder.may_reach(name, port), may, "{name}:{port}");
        }
    }

    #[test]
    fn grant_expires_with_its_command() {
        let grants = EgressGrants::default();
        let (one, other) = (grants.issue(1, None), grants.issue(1, None));
        let credentials = |grant: &dyn EgressGrant| {
            let proxy = grant.proxy();
            proxy.strip_prefix("http://").and_then(|rest| rest.split_once('@')).unwrap().0.to_owned()
        };
        let (first, second) = (credentials(one.as_ref()), credentials(other.as_ref()));
        assert_ne!(first, second);
        let holder = grants.holder(&first).unwrap();
        for _ in 0..2 {
            holder.begin("example.com");
            holder.end("example.com", AttemptOutcome::Connected);
        }
        let grant = holder.grant().unwrap();
        assert_eq!(one.take_attempts().hosts, [EgressAttempt { host: "example.com".to_owned(), refused: false }]);
        assert!(one.take_attempts().is_empty(), "they are told once");
        assert!(other.take_attempts().is_empty() && grants.holder("job:guess").is_none());
        drop(one);
        assert!(grants.holder(&first).is_none() && grant.is_cancelled() && holder.grant().is_none());
        assert!(grants.holder(&second).is_some());
    }

    #[test]
    fn suspended_grant_resumes_with_a_new_token() {
        let grants = EgressGrants::default();
        let grant = grants.issue(1, None);
        let holder = whole(&grants.known).values().next().unwrap().clone();
        let first = holder.grant().unwrap();
        grant.resume();
        assert!(!first.is_cancelled(), "to resume what goes on changes nothing");
        grant.suspend();
        assert!(first.is_cancelled() && holder.grant().is_none());
        grant.resume();
        assert!(first.is_cancelled() && !holder.grant().unwrap().is_cancelled());
    }

    #[test]
    fn attempts_are_listed_up_to_a_bound() {
        let grants = EgressGrants::default();
        let grant = grants.issue(1, None);
        let holder = whole(&grants.known).values().next().unwrap().clone();
        holder.begin("cut.test");
        holder.begin("no.test");
        holder.end("no.test", AttemptOutcome::EgressRefusal);
        holder.begin(&"x".repeat(9_000));
        let told: Vec<(usize, bool)> =
            grant.take_attempts().hosts.iter().map(|contact| (contact.host.len(), contact.refused)).collect();
        assert_eq!(told, [("cut.test".len(), true), ("no.test".len(), true), (MAX_NAME, true)]);
        // An attempt that ends after its list was taken is not in the next one.
        holder.end("cut.test", AttemptOutcome::Connected);
        assert!(grant.take_attempts().is_empty());
        (0..MAX_HOSTS + 7).for_each(|number| holder.begin(&format!("{number}.test")));
        let many = grant.take_attempts();
        assert_eq!((many.hosts.len(), many.more), (MAX_HOSTS, 7));
    }
}
