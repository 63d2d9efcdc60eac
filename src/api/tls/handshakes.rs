//! The handshakes that are under way: a bounded number, for a bounded time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Maximum time from accepting a connection to the end of its handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Maximum number of handshakes at once. One more ends the one that began first, so that connections which do nothing
/// keep nobody out.
const MOST: usize = 1024;

#[derive(Clone, Default)]
pub struct Handshakes(Arc<Mutex<UnderWay>>);

#[derive(Default)]
struct UnderWay {
    next: u64,
    /// By number, the oldest first.
    open: BTreeMap<u64, CancellationToken>,
}

/// A handshake that counts until this is dropped.
pub struct Handshake {
    handshakes: Handshakes,
    number: u64,
    displaced: CancellationToken,
}

impl Handshakes {
    pub fn begin(&self) -> Handshake {
        let mut under_way = self.lock();
        let (number, displaced) = (under_way.next, CancellationToken::new());
        under_way.next += 1;
        under_way.open.insert(number, displaced.clone());
        if under_way.open.len() > MOST
            && let Some((_, oldest)) = under_way.open.pop_first()
        {
            oldest.cancel();
        }
        drop(under_way);
        Handshake { handshakes: self.clone(), number, displaced }
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handshake {
    /// Returns what `work` results in; `None` if it takes too long, or newer handshakes took its place.
    pub async fn bounded<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = tokio::time::timeout(HANDSHAKE, work) => done.ok(),
            () = self.displaced.cancelled() => None,
        }
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.handshakes.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test(start_paused = true)]
    async fn stalled_handshakes_keep_nobody_out() {
        let handshakes = Handshakes::default();
        let mut stalled: Vec<Handshake> = (0..=MOST).map(|_| handshakes.begin()).collect();
        let second = stalled.remove(1);
        assert_eq!(stalled[0].bounded(pending::<()>()).await, None, "the oldest one ends at once");
        assert_eq!(handshakes.lock().open.len(), MOST);
        assert_eq!(second.bounded(ready(1)).await, Some(1));
        assert_eq!(second.bounded(pending::<()>()).await, None, "it ends after some time");
        drop((stalled, second));
        assert_eq!(handshakes.lock().open.len(), 0);
    }
}
