//! Browsers in which a person has signed in before. Failed attempts from such a browser are counted apart, so that a stranger who
//! guesses the password of an account does not make its owner wait. What a browser keeps proves only that: it signs nobody in.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::clock;
use crate::domain::Account;

/// How long a browser keeps the proof, in seconds: a year.
pub const DEVICE_LIFE: u64 = 365 * 24 * 3600;
/// Separates these codes from everything else that the secret signs.
const PURPOSE: &str = "miniclaw device v1";
/// Maximum bytes of a proof.
const MAX_PROOF: usize = 512;

/// The key of the proofs.
pub(super) struct DeviceKey(Hmac<Sha256>);

impl DeviceKey {
    pub fn new(secret: &SecretString) -> Self {
        Self(Hmac::new_from_slice(secret.expose_secret().as_bytes()).expect("a key has any length"))
    }

    /// Returns a new proof that somebody has signed in to this account. It counts until the sign-ins of the account end.
    pub fn issue(&self, account: &Account) -> String {
        let device = clock::new_secret();
        let code = base16ct::lower::encode_string(&self.code(account, &device).finalize().into_bytes());
        format!("{device}.{code}")
    }

    /// Returns the name of the device, if this is a proof for this account.
    pub fn read<'p>(&self, proof: &'p str, account: &Account) -> Option<&'p str> {
        let (device, code) = proof.split_once('.').filter(|_| proof.len() <= MAX_PROOF)?;
        let code = base16ct::lower::decode_vec(code).ok()?;
        // In constant time.
        self.code(account, device).verify_slice(&code).ok().map(|()| device)
    }

    fn code(&self, account: &Account, device: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        // No part contains a line break, so no two of these texts are the same.
        mac.update(format!("{PURPOSE}\n{}\n{}\n{device}", account.id.as_str(), account.token_version).as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: &str, version: u64) -> Account {
        let account = serde_json::json!({"id": id, "username": id, "role": "user", "is_active": true, "created_at": 1.0,
            "password_hash": "x", "token_version": version});
        serde_json::from_value(account).unwrap()
    }

    #[test]
    fn proof_counts_for_one_account_until_its_sign_ins_end() {
        let key = DeviceKey::new(&"0123456789abcdef0123456789abcdef".to_owned().into());
        let (ann, bob) = (account("ann", 1), account("bob", 1));
        let proof = key.issue(&ann);
        let device = proof.split('.').next().unwrap();
        assert_eq!(key.read(&proof, &ann), Some(device));
        assert_ne!(key.issue(&ann), proof, "each browser has its own");
        let other = DeviceKey::new(&"fedcba9876543210fedcba9876543210".to_owned().into());
        assert_eq!((key.read(&proof, &bob), other.read(&proof, &ann)), (None, None));
        assert_eq!(key.read(&proof, &account("ann", 2)), None, "a new password ends it");
        for odd in ["", ".", "x.", &proof[1..], &proof[..proof.len() - 2], &format!("{proof}00"), &"a".repeat(9_999)] {
            assert_eq!(key.read(odd, &ann), None, "{odd}");
        }
    }
}
