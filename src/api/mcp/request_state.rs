//! The state of a request that waits for a person: which work it began, and which question waits. The client keeps it and sends
//! it back with the repeated request, so it is sealed: for this caller, this request and ten minutes.

use std::time::Duration;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::api::security::access::PageSecret;
use crate::api::security::caller::Caller;

/// How long a state counts.
const LIFE: Duration = Duration::from_secs(600);

/// What a request left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingWork {
    pub session: String,
    pub work: String,
    /// The question that waits.
    pub question: String,
}

#[derive(Clone)]
pub struct RequestStates(RequestStateCodec);

impl RequestStates {
    pub fn new(secret: &PageSecret) -> Self {
        let key = secret.for_request_state();
        Self(RequestStateCodec::try_new(key.as_bytes()).expect("64 hexadecimal digits are long enough"))
    }

    /// Returns the state as text. `binding` is that of the request.
    pub fn seal(&self, waiting: &WaitingWork, binding: &[u8]) -> String {
        let text = serde_json::to_vec(waiting).unwrap_or_default();
        self.0.seal_with(&text, &SealOptions::new().associated_data(binding).ttl(LIFE))
    }

    /// Returns a state that this server has sealed for the same request; `None` for any other text, and after its time.
    pub fn open(&self, sealed: &str, binding: &[u8]) -> Option<WaitingWork> {
        let text = self.0.open_with(sealed, binding).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Returns what a state is bound to: the caller, and the call with its arguments.
pub fn binding(caller: &Caller, tool: &str, arguments: &str) -> Vec<u8> {
    let account = caller.person.account().map(|account| account.as_str()).unwrap_or_default();
    let digest = base16ct::lower::encode_string(&Sha256::digest(format!("{tool}\n{arguments}")));
    format!("{account}\n{}\n{digest}", caller.client_key()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_counts_for_its_request_only() {
        let states = RequestStates::new(&PageSecret::new());
        let waiting = WaitingWork { session: "s".to_owned(), work: "w".to_owned(), question: "q".to_owned() };
        let sealed = states.seal(&waiting, b"ann ask");
        assert_eq!(states.open(&sealed, b"ann ask"), Some(waiting));
        assert_eq!(states.open(&sealed, b"bob ask"), None);
        assert_eq!(RequestStates::new(&PageSecret::new()).open(&sealed, b"ann ask"), None);
        let forged = format!("{}x", &sealed[..sealed.len() - 1]);
        assert_eq!(states.open(&forged, b"ann ask"), None);
        assert_eq!(states.open("", b"ann ask"), None);
    }
}
