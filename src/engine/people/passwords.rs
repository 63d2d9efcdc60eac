//! Hashes of passwords: Argon2id with 19 MiB of memory, 2 passes and 1 lane, as OWASP recommends. A hash says with which
//! parameters it was made, so they can be changed; the next sign-in makes a new hash.
//!
//! A hash takes tens of milliseconds of a processor, so only a few are computed at once, and never on the threads that serve
//! streams.

use std::num::NonZeroUsize;
use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock;
use crate::domain::AccountRefused;
use crate::domain::account_fields::normalized_password;

/// Memory of a hash in KiB, number of passes, and number of lanes.
const PARAMETERS: (u32, u32, u32) = (19 * 1024, 2, 1);
/// Maximum number of requests that wait for a hash.
const MAX_WAITING: usize = 256;

pub struct Passwords {
    /// One for each hash that may be computed at once.
    running: Arc<Semaphore>,
    waiting: Semaphore,
    /// The hash that is checked for names that nobody has, so that the answer takes as long.
    decoy: String,
}

/// The result of a check of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    pub is_right: bool,
    /// Whether the hash was made with other parameters than those of today.
    pub is_outdated: bool,
}

/// The right to compute a hash. The computation keeps it to its end, even if nobody waits for the result any more.
#[derive(Clone)]
pub struct Turn(#[expect(dead_code, reason = "it is held")] Arc<OwnedSemaphorePermit>);

impl Passwords {
    /// # Errors
    /// Returns [`AccountRefused::Busy`] if this machine has no random numbers or not enough memory.
    pub async fn new() -> Result<Self, AccountRefused> {
        let decoy = blocking_hash(None, clock::new_secret()).await?;
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self {
            running: Arc::new(Semaphore::new((processors / 2).max(1))),
            waiting: Semaphore::new(MAX_WAITING),
            decoy,
        })
    }

    /// Waits until a hash may be computed.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Busy`] if too many wait already.
    pub async fn turn(&self) -> Result<Turn, AccountRefused> {
        let _waits = self.waiting.try_acquire().map_err(|_| AccountRefused::Busy)?;
        let permit = self.running.clone().acquire_owned().await;
        permit.map(|permit| Turn(Arc::new(permit))).map_err(|_| AccountRefused::Busy)
    }

    /// Returns the hash of a password in PHC format.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Busy`] if there is not enough memory.
    pub async fn hash(&self, turn: &Turn, password: &str) -> Result<String, AccountRefused> {
        blocking_hash(Some(turn.clone()), normalized_password(password)).await
    }

    /// Checks a password. Without a hash it takes as long, and the password is wrong.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Busy`] if there is not enough memory.
    pub async fn check(&self, turn: &Turn, password: &str, hash: Option<&str>) -> Result<Checked, AccountRefused> {
        let (is_known, hash) = (hash.is_some(), hash.unwrap_or(&self.decoy).to_owned());
        let (password, turn) = (normalized_password(password), turn.clone());
        let checked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            check(password.as_bytes(), &hash)
        });
        let Checked { is_right, is_outdated } = checked.await.map_err(|_| AccountRefused::Busy)?;
        Ok(Checked { is_right: is_right && is_known, is_outdated })
    }
}

async fn blocking_hash(turn: Option<Turn>, password: String) -> Result<String, AccountRefused> {
    let hashed = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        hasher().and_then(|hasher| hasher.hash_password(password.as_bytes()).ok()).map(|hash| hash.to_string())
    });
    hashed.await.ok().flatten().ok_or(AccountRefused::Busy)
}

fn hasher() -> Option<Argon2<'static>> {
    let (memory, passes, lanes) = PARAMETERS;
    let parameters = Params::new(memory, passes, lanes, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

/// A hash that is no hash is that of no password.
fn check(password: &[u8], hash: &str) -> Checked {
    let none = Checked { is_right: false, is_outdated: false };
    let (Ok(hash), Some(hasher)) = (PasswordHash::new(hash), hasher()) else { return none };
    let is_right = hasher.verify_password(password, &hash).is_ok();
    let used = Params::try_from(&hash).map(|used| (used.m_cost(), used.t_cost(), used.p_cost()));
    let is_outdated = used != Ok(PARAMETERS) || hash.algorithm.as_str() != Algorithm::Argon2id.as_str();
    Checked { is_right, is_outdated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_has_the_hash() {
        let passwords = Passwords::new().await.unwrap();
        let turn = passwords.turn().await.unwrap();
        let hash = passwords.hash(&turn, "correct horse é").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash(&turn, "correct horse é").await.unwrap(), "each has its own salt");
        let check = async |password, hash| passwords.check(&turn, password, hash).await.unwrap();
        let right = Checked { is_right: true, is_outdated: false };
        assert_eq!(check("correct horse é", Some(&hash)).await, right);
        assert_eq!(check("correct horse e\u{301}", Some(&hash)).await, right, "another keyboard");
        for (password, hash) in [("Correct horse é", Some(&*hash)), ("x", Some("x")), ("x", Some("")), ("x", None)] {
            assert!(!check(password, hash).await.is_right, "{password} {hash:?}");
        }
    }

    #[test]
    fn hash_with_other_parameters_is_outdated() {
        let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64, 1, 1, None).unwrap());
        let hash: PasswordHash = weak.hash_password(b"x").unwrap();
        assert_eq!(check(b"x", &hash.to_string()), Checked { is_right: true, is_outdated: true });
    }
}
