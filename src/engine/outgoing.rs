//! Encoded bytes for many subscribers, each of which sends them at its own pace. They are stored once, and only while
//! one of them still needs them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;

/// Minimum length of shared bytes. Shorter ones are encoded for each subscriber, because sharing would cost more than
/// it saves.
const LONG: usize = 4096;

/// The bytes of one publication in one encoding.
#[derive(Debug, Default)]
pub struct SharedEncoding(Mutex<Weak<Vec<u8>>>);

/// Keeps the bytes alive until a subscriber's connection has sent them.
struct QueuedBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for QueuedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl SharedEncoding {
    /// Returns the bytes that another subscriber still holds, or new ones. `make` must always return the same bytes, or
    /// `None`.
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
        let outgoing = SharedEncoding::default();
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
    fn short_frames_are_made_per_subscriber() {
        let outgoing = SharedEncoding::default();
        let made = std::cell::Cell::new(0);
        let short = || {
            made.set(made.get() + 1);
            Some(b"data: {}".to_vec())
        };
        let both = (outgoing.bytes(short), outgoing.bytes(short));
        assert_eq!((both.0, made.get()), (both.1, 2));
    }
}
