//! Texts that are sealed in a readable file: ChaCha20-Poly1305 with a key that is derived from `session-key.json`, each bound to
//! what it is for, so that it opens in no other place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};

use super::error::StoreError;
use super::home::Home;

/// What a text is sealed for.
#[derive(Clone, Copy)]
pub(super) struct SealedFor<'a> {
    /// One key is derived for each purpose.
    pub purpose: &'static str,
    /// What it is bound to.
    pub bound_to: &'a [u8],
}

impl Home {
    /// Returns nonce, ciphertext and tag in base64.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub(super) fn seal_text(&self, whom: SealedFor<'_>, text: &SecretString) -> Result<String, StoreError> {
        let failed = |_| StoreError::io("sealing a secret")(std::io::Error::other("the system has no random numbers"));
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut bytes = text.expose_secret().as_bytes().to_vec();
        let key = self.text_key(whom.purpose);
        let nonce_once = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce_once, Aad::from(whom.bound_to), &mut bytes).map_err(failed)?;
        Ok(STANDARD.encode([nonce.as_slice(), &bytes].concat()))
    }

    /// Opens a sealed text; `None` if it was sealed by another home or for something else.
    pub(super) fn open_text(&self, whom: SealedFor<'_>, sealed: &str) -> Option<SecretString> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, bytes) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = bytes.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text = self.text_key(whom.purpose).open_in_place(nonce, Aad::from(whom.bound_to), &mut bytes).ok()?;
        Some(SecretString::from(std::str::from_utf8(text).ok()?))
    }

    fn text_key(&self, purpose: &str) -> LessSafeKey {
        let key = self.seal().derived_key(purpose);
        LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).expect("the key has 32 bytes"))
    }
}
