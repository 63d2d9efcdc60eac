//! Who may use the proxy: the commands that run now, each with credentials of its own and a list of whom it asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::domain::{Contact, Contacts, Pass};

/// The user name of every pass; the password tells them apart.
const USER: &str = "job";
/// Hosts kept for each pass; a list longer than this would not be read.
const HOSTS: usize = 200;
/// Bytes kept of a host's name. No name has more; what a command asks for may.
const NAME: usize = 260;

type Digested = [u8; 32];

/// The passes there are, by the digest of their credentials: comparing those takes a time that says nothing.
#[derive(Clone, Default)]
pub struct Passes {
    known: Arc<Mutex<HashMap<Digested, Arc<Holder>>>>,
}

/// What the proxy knows of a command.
#[derive(Default)]
pub struct Holder {
    /// Cancelled when the grant ends; absent while it is suspended.
    grant: Mutex<Option<CancellationToken>>,
    asked: Mutex<Asked>,
}

/// Whom a command asked for, since that was last taken.
#[derive(Default)]
struct Asked {
    hosts: BTreeMap<String, Attempts>,
    more: u64,
}

/// What became of the attempts to reach a host. One under way is neither.
#[derive(Clone, Copy, Default)]
struct Attempts {
    connected: bool,
    refused: bool,
}

/// How an attempt to reach a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Connected,
    Refused,
}

impl Holder {
    fn granted() -> Self {
        Self { grant: Mutex::new(Some(CancellationToken::new())), ..Self::default() }
    }

    /// The grant that is valid now: cancelled when it ends.
    pub fn grant(&self) -> Option<CancellationToken> {
        whole(&self.grant).clone()
    }

    /// An attempt begins. It is in the list from now on, also when its grant ends before it does.
    pub fn begin(&self, host: &str) {
        let mut asked = whole(&self.asked);
        let host = short(host);
        if asked.hosts.len() < HOSTS || asked.hosts.contains_key(host) {
            asked.hosts.entry(host.to_owned()).or_default();
        } else {
            asked.more = asked.more.saturating_add(1);
        }
    }

    pub fn end(&self, host: &str, attempt: Attempt) {
        if let Some(attempts) = whole(&self.asked).hosts.get_mut(short(host)) {
            match attempt {
                Attempt::Connected => attempts.connected = true,
                Attempt::Refused => attempts.refused = true,
            }
        }
    }

    fn take(&self) -> Contacts {
        let Asked { hosts, more } = std::mem::take(&mut *whole(&self.asked));
        let contacts = hosts.into_iter().flat_map(|(host, attempts)| {
            let connected = attempts.connected.then(|| Contact { host: host.clone(), refused: false });
            let refused = (attempts.refused || !attempts.connected).then_some(Contact { host, refused: true });
            connected.into_iter().chain(refused)
        });
        Contacts { hosts: contacts.collect(), more }
    }
}

fn short(host: &str) -> &str {
    &host[..host.floor_char_boundary(NAME)]
}

/// Dropping it makes its credentials void and closes what it opened.
struct OnePass {
    passes: Passes,
    holder: Arc<Holder>,
    key: Digested,
    secret: String,
    port: u16,
}

impl Passes {
    pub fn give(&self, port: u16) -> Box<dyn Pass> {
        let secret = clock::new_secret();
        let (key, holder) = (digest(&format!("{USER}:{secret}")), Arc::new(Holder::granted()));
        whole(&self.known).insert(key, holder.clone());
        Box::new(OnePass { passes: self.clone(), holder, key, secret, port })
    }

    /// Whose credentials these are, also while the grant is suspended.
    pub fn holder(&self, credentials: &str) -> Option<Arc<Holder>> {
        whole(&self.known).get(&digest(credentials)).cloned()
    }
}

impl Pass for OnePass {
    fn port(&self) -> u16 {
        self.port
    }

    fn proxy(&self) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}", self.secret, self.port)
    }

    fn suspend(&self) {
        if let Some(grant) = whole(&self.holder.grant).take() {
            grant.cancel();
        }
    }

    fn resume(&self) {
        whole(&self.holder.grant).get_or_insert_default();
    }

    fn take_contacts(&self) -> Contacts {
        self.holder.take()
    }
}

impl Drop for OnePass {
    fn drop(&mut self) {
        whole(&self.passes.known).remove(&self.key);
        self.suspend();
    }
}

fn digest(text: &str) -> Digested {
    Sha256::digest(text).into()
}

/// Maps and sets are whole between any two operations on them.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_void_when_its_command_has_ended() {
        let passes = Passes::default();
        let (one, other) = (passes.give(1), passes.give(1));
        let credentials = |pass: &dyn Pass| {
            let proxy = pass.proxy();
            proxy.strip_prefix("http://").and_then(|rest| rest.split_once('@')).unwrap().0.to_owned()
        };
        let (first, second) = (credentials(one.as_ref()), credentials(other.as_ref()));
        assert_ne!(first, second);
        let holder = passes.holder(&first).unwrap();
        for _ in 0..2 {
            holder.begin("example.com");
            holder.end("example.com", Attempt::Connected);
        }
        let grant = holder.grant().unwrap();
        assert_eq!(one.take_contacts().hosts, [Contact { host: "example.com".to_owned(), refused: false }]);
        assert!(one.take_contacts().is_empty(), "they are told once");
        assert!(other.take_contacts().is_empty() && passes.holder("job:guess").is_none());
        drop(one);
        assert!(passes.holder(&first).is_none() && grant.is_cancelled() && holder.grant().is_none());
        assert!(passes.holder(&second).is_some());
    }

    #[test]
    fn a_suspended_grant_is_over_and_comes_back_as_another_one() {
        let passes = Passes::default();
        let pass = passes.give(1);
        let holder = whole(&passes.known).values().next().unwrap().clone();
        let first = holder.grant().unwrap();
        pass.resume();
        assert!(!first.is_cancelled(), "to resume what goes on changes nothing");
        pass.suspend();
        assert!(first.is_cancelled() && holder.grant().is_none());
        pass.resume();
        assert!(first.is_cancelled() && !holder.grant().unwrap().is_cancelled());
    }

    #[test]
    fn every_attempt_is_listed_however_it_ends_and_the_list_is_bounded() {
        let passes = Passes::default();
        let pass = passes.give(1);
        let holder = whole(&passes.known).values().next().unwrap().clone();
        holder.begin("cut.test");
        holder.begin("no.test");
        holder.end("no.test", Attempt::Refused);
        holder.begin(&"x".repeat(9_000));
        let told: Vec<(usize, bool)> =
            pass.take_contacts().hosts.iter().map(|contact| (contact.host.len(), contact.refused)).collect();
        assert_eq!(told, [("cut.test".len(), true), ("no.test".len(), true), (NAME, true)]);
        // One that ends after its list was taken is not in the next one.
        holder.end("cut.test", Attempt::Connected);
        assert!(pass.take_contacts().is_empty());
        (0..HOSTS + 7).for_each(|number| holder.begin(&format!("{number}.test")));
        let many = pass.take_contacts();
        assert_eq!((many.hosts.len(), many.more), (HOSTS, 7));
    }
}
