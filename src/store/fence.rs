//! Write access to a home: the claim, and the fence that refuses older claims.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::error::StoreError;
use super::home::Home;
use super::write_pause::{Entered, WriteGate};

/// Proof that this server owns the home. A newer claim has a higher fence, and the store refuses writes with an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    fence: u64,
}

/// The fence number of the claim that may write. A write holds the read lock, so a claim becomes void only after the writes
/// that it allowed have ended.
pub(super) struct Fence {
    current: RwLock<u64>,
    /// Absent if the home is only read.
    gate: Option<WriteGate>,
}

/// Keeps a claim valid, and lets no pause of writes begin, as long as it lives.
pub(super) struct HeldClaim<'f> {
    _current: RwLockReadGuard<'f, u64>,
    _entered: Option<Entered<'f>>,
}

impl Fence {
    pub fn new(gate: Option<WriteGate>) -> Self {
        Self { current: RwLock::default(), gate }
    }

    pub fn new_claim(&self) -> Claim {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current += 1;
        Claim { fence: *current }
    }

    /// Voids a claim. A newer claim stays valid.
    pub fn void(&self, claim: Claim) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if *current == claim.fence {
            *current += 1;
        }
    }

    /// Keeps the claim valid as long as what is returned lives. Waits while writes are paused.
    ///
    /// # Errors
    /// Returns [`StoreError::Fenced`] if the claim is void.
    pub fn hold(&self, claim: Claim) -> Result<HeldClaim<'_>, StoreError> {
        let entered = self.gate.as_ref().map(WriteGate::enter);
        self.holding(claim, entered)
    }

    /// Like [`Fence::hold`], for a caller that must not wait: returns `None` while writes are paused.
    pub fn try_hold(&self, claim: Claim) -> Option<Result<HeldClaim<'_>, StoreError>> {
        let entered = match &self.gate {
            Some(gate) => Some(gate.try_enter()?),
            None => None,
        };
        Some(self.holding(claim, entered))
    }

    fn holding<'f>(&'f self, claim: Claim, entered: Option<Entered<'f>>) -> Result<HeldClaim<'f>, StoreError> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        match *current == claim.fence {
            true => Ok(HeldClaim { _current: current, _entered: entered }),
            false => Err(StoreError::Fenced),
        }
    }
}

/// Runs blocking file work outside the runtime's async threads. The work runs to its end even if the caller is cancelled.
pub(super) async fn blocking<T: Send + 'static>(
    home: &Home,
    work: impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let home = home.clone();
    tokio::task::spawn_blocking(move || work(&home)).await.map_err(|_| StoreError::ShutDown)?
}

/// Like [`blocking`], for work that may write: holds the claim while the work runs. If the home is in a database, what the work
/// changed is stored there before this returns.
pub(super) async fn fenced<T: Send + 'static>(
    home: &Home,
    claim: Claim,
    work: impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    stored(home, claim, (work, Changes::Noticed)).await
}

/// Like [`fenced`], after a command that has worked in the files itself: the whole home is looked at for what it changed.
pub(super) async fn fenced_after_command<T: Send + 'static>(
    home: &Home,
    claim: Claim,
    work: impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    stored(home, claim, (work, Changes::Any)).await
}

/// Which changes are stored.
enum Changes {
    /// Those of which the kernel gave notice: all that the store makes.
    Noticed,
    Any,
}

async fn stored<T: Send + 'static>(
    home: &Home,
    claim: Claim,
    (work, changes): (impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static, Changes),
) -> Result<T, StoreError> {
    let Some(replica) = home.replica().cloned() else { return held(home, claim, work).await };
    let home = home.clone();
    let stored = tokio::spawn(async move {
        let done = held(&home, claim, work).await;
        // Also what was changed before a failure.
        let stored = match changes {
            Changes::Noticed => replica.store_changes(&home).await,
            Changes::Any => replica.store_all(&home).await,
        };
        if let Err(StoreError::Fenced) = stored {
            home.fence().void(claim);
        }
        done.and_then(|done| stored.map(|()| done))
    });
    stored.await.map_err(|_| StoreError::ShutDown)?
}

async fn held<T: Send + 'static>(
    home: &Home,
    claim: Claim,
    work: impl FnOnce(&Home) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    blocking(home, move |home| {
        let _owned = home.fence().hold(claim)?;
        work(home)
    })
    .await
}
