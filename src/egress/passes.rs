//! Who may use the proxy: the commands that run now, each with credentials of its own and a list of whom it asked for.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::domain::{Contact, Pass};

/// The user name of every pass; the password tells them apart.
const USER: &str = "job";
/// A list longer than this would not be read.
const CONTACTS: usize = 200;

type Digested = [u8; 32];

/// The passes that are valid now, by the digest of their credentials: comparing those takes a time that says nothing.
#[derive(Clone, Default)]
pub struct Passes {
    valid: Arc<Mutex<HashMap<Digested, Arc<Holder>>>>,
}

/// What the proxy knows of a command.
#[derive(Default)]
pub struct Holder {
    contacts: Mutex<BTreeSet<Contact>>,
    /// The command has ended: its connections end too.
    pub over: CancellationToken,
}

impl Holder {
    pub fn note(&self, host: String, refused: bool) {
        let mut contacts = whole(&self.contacts);
        if contacts.len() < CONTACTS {
            contacts.insert(Contact { host, refused });
        }
    }
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
        let (key, holder) = (digest(&format!("{USER}:{secret}")), Arc::<Holder>::default());
        whole(&self.valid).insert(key, holder.clone());
        Box::new(OnePass { passes: self.clone(), holder, key, secret, port })
    }

    pub fn holder(&self, credentials: &str) -> Option<Arc<Holder>> {
        whole(&self.valid).get(&digest(credentials)).cloned()
    }
}

impl Pass for OnePass {
    fn port(&self) -> u16 {
        self.port
    }

    fn proxy(&self) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}", self.secret, self.port)
    }

    fn contacts(&self) -> Vec<Contact> {
        whole(&self.holder.contacts).iter().cloned().collect()
    }
}

impl Drop for OnePass {
    fn drop(&mut self) {
        whole(&self.passes.valid).remove(&self.key);
        self.holder.over.cancel();
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
        holder.note("example.com".to_owned(), false);
        holder.note("example.com".to_owned(), false);
        assert_eq!(one.contacts(), [Contact { host: "example.com".to_owned(), refused: false }]);
        assert!(other.contacts().is_empty() && passes.holder("job:guess").is_none());
        drop(one);
        assert!(passes.holder(&first).is_none() && holder.over.is_cancelled());
        assert!(passes.holder(&second).is_some());
    }
}
