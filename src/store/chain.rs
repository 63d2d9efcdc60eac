//! The hash chain over the facts of a session. Each head is the SHA-256 of the head before it, a newline, and the JSON of the
//! next fact as it is in the journal. Every line of a journal contains the head after it, and the session's file contains the
//! head after the last fact that is folded into it. Both are covered by a MAC, so a line that is missing, moved or repeated
//! does not fit the lines around it.
//!
//! A chain begins at a fact number, with a head that follows from the session's id and that number. A session without a chain
//! (an earlier version wrote it, or it was adopted) begins one with its next fact.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::domain::{Session, SessionId};

/// The field of a session's file, and of a line of its journal.
pub(super) const FIELD: &str = "chain";

/// A chain of facts up to one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Number of the last fact before the chain began: 0 if it contains all facts.
    pub since: u64,
    /// Number of the last fact in the chain.
    pub seq: u64,
    /// SHA-256, in hexadecimal.
    pub head: String,
}

impl Chain {
    /// Begins a chain after the fact of this number.
    pub fn begin(session: &SessionId, seq: u64) -> Self {
        let head = hex(Sha256::digest(format!("miniclaw session chain\0{session}\0{seq}")));
        Self { since: seq, seq, head }
    }

    /// Continues the chain of a session, or begins one if there is none up to its last fact.
    pub fn of(session: &SessionId, seq: u64, known: Option<Self>) -> Self {
        known.filter(|chain| chain.seq == seq).unwrap_or_else(|| Self::begin(session, seq))
    }

    /// Returns the head after a fact, whose JSON is passed without its closing brace.
    pub fn head_after(&self, fact: &[u8]) -> String {
        let mut digest = Sha256::new();
        for part in [self.head.as_bytes(), b"\n", fact, b"}"] {
            digest.update(part);
        }
        hex(digest.finalize())
    }

    /// Adds a fact that has this head. A fact of an earlier version has none: the chain begins again after it. After a gap
    /// the chain contains the facts from the gap on.
    pub fn add(&mut self, session: &SessionId, seq: u64, head: Option<&str>) {
        match head {
            None => *self = Self::begin(session, seq),
            Some(head) => {
                let since = if seq == self.seq + 1 { self.since } else { seq };
                *self = Self { since, seq, head: head.to_owned() };
            }
        }
    }

    /// Removes the chain from the fields of a session that was read. `None` if there is none, or if it is not a chain.
    pub fn take(session: &mut Session) -> Option<Self> {
        session.extra.shift_remove(FIELD).and_then(|value: Value| serde_json::from_value(value).ok())
    }

    /// Adds the chain as the last field of an indented JSON object that ends with a newline.
    pub fn write(&self, object: &mut Vec<u8>) {
        let body = object.strip_suffix(b"\n}\n").map(<[u8]>::len);
        object.truncate(body.expect("an indented object with fields ends with a bracket on a line of its own"));
        let Self { since, seq, head } = self;
        let field = format!(
            ",\n  \"{FIELD}\": {{\n    \"since\": {since},\n    \"seq\": {seq},\n    \"head\": \"{head}\"\n  }}\n}}\n"
        );
        object.extend_from_slice(field.as_bytes());
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    base16ct::lower::encode_string(digest.as_ref())
}
