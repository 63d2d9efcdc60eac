//! `sign-outs.json`: which browsers have signed out of a server for one person. Their cookies prove themselves for 30 days, so
//! somebody has to remember it.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::fence::{Claim, fenced};
use super::files::Expect;
use super::home::Home;
use super::settings::SettingsFile;
use super::tree::{Tree, TreeChange, TreePath};
use crate::clock;

const FILE: SettingsFile = SettingsFile::SignOuts;
/// Sign-outs that are remembered one by one. With more, all browsers have to sign in again.
const MAX_REMEMBERED: usize = 1000;

/// The cookie of a browser. Times are Unix seconds.
#[derive(Clone, Debug)]
pub struct BrowserCookie {
    /// SHA-256 of its value, in hexadecimal.
    pub digest: String,
    pub made_at: u64,
    pub expires_at: u64,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignOuts {
    /// Whoever has signed in before this time has signed out.
    #[serde(default)]
    all_before: u64,
    /// When the cookies with these digests expire.
    #[serde(default)]
    cookies: BTreeMap<String, u64>,
}

impl SignOuts {
    fn of_all(now: u64) -> Self {
        Self { all_before: now, ..Self::default() }
    }

    fn has(&self, cookie: &BrowserCookie) -> bool {
        cookie.made_at < self.all_before || self.cookies.contains_key(&cookie.digest)
    }

    fn add(&mut self, cookie: &BrowserCookie, now: u64) {
        self.cookies.retain(|_, expires_at| now < *expires_at);
        if self.cookies.len() >= MAX_REMEMBERED {
            *self = Self::of_all(now);
        }
        self.cookies.insert(cookie.digest.clone(), cookie.expires_at);
    }
}

impl Home {
    /// Whether a browser has signed out.
    pub fn has_signed_out(&self, cookie: &BrowserCookie) -> bool {
        self.sign_outs().read().unwrap_or_else(PoisonError::into_inner).has(cookie)
    }

    /// Reads who has signed out. If the file is damaged, a copy goes to quarantine, and all browsers have to sign in again.
    pub(super) fn read_sign_outs(&self) -> Result<(), StoreError> {
        let now = clock::now() as u64;
        self.edit(|home| match home.stored_sign_outs()? {
            (Ok(_), _) => Ok(None),
            (Err(damaged), expect) => {
                home.quarantine_copy(FILE, &damaged.bytes, damaged.reason)?;
                home.warn(format!("{} was damaged, so all browsers have to sign in again.", FILE.name()));
                Ok(Some(changed(&SignOuts::of_all(now), expect)))
            }
        })?;
        self.show_sign_outs()
    }

    fn show_sign_outs(&self) -> Result<(), StoreError> {
        let (stored, _) = self.stored_sign_outs()?;
        // Damaged since a moment ago: nobody is signed in until the next start.
        let known = stored.unwrap_or_else(|_| SignOuts::of_all(u64::MAX));
        *self.sign_outs().write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    fn sign_out_change(&self, cookie: &BrowserCookie) -> Result<Option<TreeChange>, StoreError> {
        let now = clock::now() as u64;
        let (stored, expect) = self.stored_sign_outs()?;
        let mut sign_outs = match stored {
            Ok(stored) => stored,
            Err(damaged) => {
                self.quarantine_copy(FILE, &damaged.bytes, damaged.reason)?;
                SignOuts::of_all(now)
            }
        };
        sign_outs.add(cookie, now);
        Ok(Some(changed(&sign_outs, expect)))
    }

    fn stored_sign_outs(&self) -> Result<(Result<SignOuts, Damaged>, Expect), StoreError> {
        let (bytes, expect) = self.settings_bytes(FILE)?;
        let Some(bytes) = bytes else { return Ok((Ok(SignOuts::default()), expect)) };
        let read = serde_json::from_slice(&bytes).map_err(|error| Damaged { reason: error.to_string(), bytes });
        Ok((read, expect))
    }
}

/// A file that cannot be read.
struct Damaged {
    bytes: Vec<u8>,
    reason: String,
}

fn changed(sign_outs: &SignOuts, expect: Expect) -> TreeChange {
    let mut bytes = serde_json::to_vec_pretty(sign_outs).expect("names and numbers are JSON");
    bytes.push(b'\n');
    TreeChange::write(TreePath::Settings(FILE), &bytes, expect)
}

impl Tree {
    /// Remembers that a browser has signed out.
    ///
    /// # Errors
    /// Returns an error if that cannot be written; the browser is then still signed in.
    pub async fn sign_out(&self, claim: Claim, cookie: BrowserCookie) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    home.edit(|home| home.sign_out_change(&cookie))?;
                    home.show_sign_outs()
                })
                .await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(name: &str, made_at: u64) -> BrowserCookie {
        BrowserCookie { digest: name.to_owned(), made_at, expires_at: made_at + 100 }
    }

    #[test]
    fn cookies_are_remembered_until_they_expire() {
        let mut sign_outs = SignOuts::default();
        sign_outs.add(&cookie("a", 1000), 1000);
        sign_outs.add(&cookie("b", 1050), 1050);
        assert!(sign_outs.has(&cookie("a", 1000)) && !sign_outs.has(&cookie("c", 1000)));
        sign_outs.add(&cookie("c", 1100), 1100);
        assert!(!sign_outs.has(&cookie("a", 1000)), "it has expired, and counts for nothing");
        assert!(sign_outs.has(&cookie("b", 1050)) && sign_outs.has(&cookie("c", 1100)));
    }

    #[test]
    fn many_sign_outs_become_one_time() {
        let mut sign_outs = SignOuts::default();
        for number in 0..=MAX_REMEMBERED {
            sign_outs.add(&cookie(&number.to_string(), 1000), 1001);
        }
        assert!(sign_outs.cookies.len() == 1 && sign_outs.has(&cookie("0", 1000)) && sign_outs.has(&cookie("x", 1000)));
        assert!(!sign_outs.has(&cookie("y", 1001)), "whoever signs in now is signed in");
    }

    #[test]
    fn damaged_file_signs_all_browsers_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE.name());
        for damaged in ["{", r#"{"cookies": {"a": "soon"}}"#, "1"] {
            std::fs::write(&file, damaged).unwrap();
            let home = Home::open(folder.path()).unwrap();
            home.read_sign_outs().unwrap();
            let (moved, now) = (home.quarantined().pop().unwrap(), clock::now() as u64);
            assert_eq!(std::fs::read_to_string(folder.path().join(moved.moved_to)).unwrap(), damaged);
            assert!(home.has_signed_out(&cookie("a", now - 10)) && !home.has_signed_out(&cookie("a", now + 10)));
            drop(home);
            let home = Home::open(folder.path()).unwrap();
            home.read_sign_outs().unwrap();
            assert!(home.has_signed_out(&cookie("a", now - 10)) && home.quarantined().is_empty(), "it was mended");
        }
    }
}
