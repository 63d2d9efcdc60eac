//! Bytes that many subscribers are sent, each at its own pace: kept once, and only while one of them still needs them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;

/// Shorter ones are made for each follower: sharing them would cost more than it saves.
const LONG: usize = 4096;

/// The bytes of one publication in one form.
#[derive(Debug, Default)]
pub struct Outgoing(Mutex<Weak<Vec<u8>>>);

/// Holds the bytes for as long as a follower's connection has not sent them.
struct QueuedBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for QueuedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Outgoing {
    /// The bytes that another follower still holds, or new ones. `make` makes the same ones every time, or none.
    pub fn bytes(&self, make: impl FnOnce() -> Option<Vec<u8>>) -> Option<Bytes> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = kept.upgrade() {
            return Some(Bytes::from_owner(QueuedBytes(held)));
        }
        let made = make()?;
        if made.len() < LONG {
            return Some(made.into());
        }
        let made = Arc::new(made);
        *kept = Arc::downgrade(&made);
        Some(Bytes::from_owner(QueuedBytes(made)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_frames_are_shared_while_held() {
        let outgoing = Outgoing::default();
        let long = || Some(vec![b'x'; LONG]);
        let first = outgoing.bytes(long).unwrap();
        let second = outgoing.bytes(|| unreachable!("the first follower still holds it")).unwrap();
        assert_eq!(first.as_ptr(), second.as_ptr());
        drop((first, second));
        let mut made = false;
        outgoing.bytes(|| {
            made = true;
            long()
        });
        assert!(made, "nobody held it");
    }

    #[test]
    fn short_ones_are_made_for_each() {
        let outgoing = Outgoing::default();
        let made = std::cell::Cell::new(0);
        let short = || {
            made.set(made.get() + 1);
            Some(b"data: {}".to_vec())
        };
        let both = (outgoing.bytes(short), outgoing.bytes(short));
        assert_eq!((both.0, made.get()), (both.1, 2));
    }
}
