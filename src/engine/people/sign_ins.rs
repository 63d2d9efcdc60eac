//! The tokens of people who have signed in: JSON web tokens with HMAC-SHA-256, valid for seven days.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use signature::{Signer, Verifier};

use crate::clock;
use crate::domain::AccountId;
use crate::domain::account::EXPIRY_SLACK;

/// Lifetime of a sign-in, in seconds: 7 days.
pub const SIGN_IN_LIFE: u64 = 7 * 24 * 3600;
/// How far the clock may have been set forward or back since a token was made, in seconds.
const CLOCK_SLACK: u64 = EXPIRY_SLACK;
/// Length of the setup code of a cluster: 128 bits in hexadecimal.
const SETUP_CODE: usize = 32;
/// Maximum bytes of a token.
const MAX_TOKEN: usize = 1024;

/// How a person has signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Password,
    /// By the header of a trusted proxy.
    Proxy,
}

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignIn {
    /// The account.
    #[serde(rename = "sub")]
    pub account: AccountId,
    /// The account's `token_version` at the sign-in.
    #[serde(rename = "ver")]
    pub version: u64,
    /// Unix second of the sign-in.
    #[serde(rename = "iat")]
    pub made_at: u64,
    /// Unix second.
    #[serde(rename = "exp")]
    pub expires_at: u64,
    /// Unique for each sign-in.
    #[serde(rename = "jti")]
    pub id: String,
    /// Whether a trusted proxy named the person. It counts only on requests on which the proxy names them again.
    #[serde(rename = "prx", default, skip_serializing_if = "std::ops::Not::not")]
    pub by_proxy: bool,
}

/// Returns by what servers know whether they have the same key of sign-ins. It tells nothing about the key.
pub fn fingerprint(secret: &SecretString) -> Vec<u8> {
    derived(secret, b"miniclaw sign-ins of a cluster 1")
}

/// Returns by what servers know whether they have the same secret of a cluster. It tells nothing about the secret.
pub fn cluster_fingerprint(secret: &SecretString) -> Vec<u8> {
    derived(secret, b"miniclaw servers of a cluster 1")
}

/// Returns the code with which the first account of a cluster is made, the same on all its servers. `secret` is that of the cluster.
pub fn shared_setup_code(secret: &SecretString) -> String {
    let code = base16ct::lower::encode_string(&derived(secret, b"miniclaw setup code of a cluster 1"));
    code.chars().take(SETUP_CODE).collect()
}

fn derived(secret: &SecretString, of: &[u8]) -> Vec<u8> {
    let keyed =
        Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("HMAC takes a key of any length");
    keyed.chain_update(of).finalize().into_bytes().to_vec()
}

/// The keys of the tokens of this server.
pub struct SignInKeys {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl SignInKeys {
    pub fn new(secret: &SecretString) -> Self {
        // The library keeps one provider for the process. If it has one already, it is this one.
        let _ = PROVIDER.install_default();
        let secret = secret.expose_secret().as_bytes();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = CLOCK_SLACK;
        validation.set_required_spec_claims(&["exp", "sub"]);
        Self { encoding: EncodingKey::from_secret(secret), decoding: DecodingKey::from_secret(secret), validation }
    }

    /// Returns a new sign-in and its token; `None` if it cannot be signed.
    pub fn sign_in(&self, account: AccountId, version: u64, way: Way) -> Option<(SignIn, String)> {
        let made_at = clock::now() as u64;
        let expires_at = made_at + SIGN_IN_LIFE;
        let by_proxy = way == Way::Proxy;
        let sign_in = SignIn { account, version, made_at, expires_at, id: clock::new_secret(), by_proxy };
        let token = encode(&Header::new(Algorithm::HS256), &sign_in, &self.encoding).ok()?;
        Some((sign_in, token))
    }

    /// Returns the sign-in of a token that this server has signed and that has not expired.
    pub fn read(&self, token: &str) -> Option<SignIn> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let read = decode::<SignIn>(token, &self.decoding, &self.validation).ok()?.claims;
        (read.made_at <= clock::now() as u64 + CLOCK_SLACK).then_some(read)
    }
}

/// HMAC-SHA-256 for the library: the only algorithm that this server uses.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => Ok(Box::new(Hs256::new(key.as_bytes())?)),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    verifier_factory: |algorithm, key| match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => Ok(Box::new(Hs256::new(key.try_get_as_bytes()?)?)),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(key: &[u8]) -> Result<Self, Error> {
        Hmac::new_from_slice(key).map(Self).map_err(|_| ErrorKind::InvalidKeyFormat.into())
    }

    fn of(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.of(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], code: &Vec<u8>) -> Result<(), signature::Error> {
        // In constant time.
        self.of(message).verify_slice(code).map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn keys(secret: &str) -> SignInKeys {
        SignInKeys::new(&secret.to_owned().into())
    }

    fn ann() -> AccountId {
        AccountId::parse("ann").unwrap()
    }

    fn part(value: &serde_json::Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    /// Signs any header and claims with the server's own secret.
    fn signed(header: &serde_json::Value, claims: &serde_json::Value) -> String {
        let message = format!("{}.{}", part(header), part(claims));
        let code = Hs256::new(SECRET.as_bytes()).unwrap().of(message.as_bytes()).finalize().into_bytes();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(code))
    }

    #[test]
    fn token_is_read_only_with_its_secret() {
        let (sign_in, token) = keys(SECRET).sign_in(ann(), 3, Way::Password).unwrap();
        assert_eq!(keys(SECRET).read(&token), Some(sign_in));
        assert_eq!(keys("fedcba9876543210fedcba9876543210").read(&token), None);
        let mut parts: Vec<&str> = token.split('.').collect();
        let [other] = [keys(SECRET).sign_in(ann(), 4, Way::Password).unwrap().1];
        parts[1] = other.split('.').nth(1).unwrap();
        for wrong in [parts.join("."), format!("{token}x"), token[..token.len() - 1].to_owned(), String::new()] {
            assert_eq!(keys(SECRET).read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_hs256_is_accepted() {
        let now = clock::now() as u64;
        let claims = json!({"sub": "ann", "ver": 1, "iat": now, "exp": now + 100, "jti": "x"});
        assert!(keys(SECRET).read(&signed(&json!({"alg": "HS256", "typ": "JWT"}), &claims)).is_some());
        for algorithm in ["none", "None", "HS384", "HS512", "RS256", "ES256", ""] {
            let header = json!({"alg": algorithm, "typ": "JWT"});
            assert_eq!(keys(SECRET).read(&signed(&header, &claims)), None, "{algorithm}");
            assert_eq!(keys(SECRET).read(&format!("{}.{}.", part(&header), part(&claims))), None, "{algorithm}");
        }
    }

    #[test]
    fn times_of_a_token_are_checked_with_little_slack() {
        let now = clock::now() as u64;
        let header = json!({"alg": "HS256"});
        let at = |made: u64, expires: serde_json::Value| {
            let claims = json!({"sub": "ann", "ver": 1, "iat": made, "exp": expires, "jti": "x"});
            keys(SECRET).read(&signed(&header, &claims)).is_some()
        };
        assert!(at(now - 100, json!(now + 100)) && at(now - 100, json!(now - CLOCK_SLACK / 2)));
        assert!(!at(now - 1000, json!(now - 2 * CLOCK_SLACK)), "expired");
        assert!(at(now + CLOCK_SLACK / 2, json!(now + 100)) && !at(now + 10 * CLOCK_SLACK, json!(now + 1000)));
        for odd in [json!(null), json!("never"), json!((now + 100).to_string()), json!(-1)] {
            assert!(!at(now, odd.clone()), "{odd}");
        }
        let without = json!({"sub": "ann", "ver": 1, "iat": now, "jti": "x"});
        assert_eq!(keys(SECRET).read(&signed(&header, &without)), None);
    }
}
