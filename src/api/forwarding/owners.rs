//! Which server has a home. The cluster answers it; forwarding only asks.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::api::error::ApiError;
use crate::domain::HomeId;

/// Where a home is used.
#[derive(Clone, Debug)]
pub enum Destination {
    /// By this server, which has the claim.
    Here,
    Server(Owner),
    /// By no server that could be asked: it is on its way from one to another, or nobody can claim it.
    Nobody,
    /// By none of this version, or by none at all before somebody has repaired it; says why.
    Refused(ApiError),
}

/// Another server that has a home.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Where other servers reach it, for instance `http://10.0.0.5:8002`. It is from the database, never from a response.
    pub address: Arc<str>,
    /// The fence of its claim.
    pub fence: u64,
    /// Cancelled when the server is known to have lost the home: what passes through to it ends.
    pub lost: CancellationToken,
}

/// An attempt to pass a request on that failed.
#[derive(Clone, Debug)]
pub struct FailedHop {
    pub owner: Owner,
    pub why: HopFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopFailure {
    /// No connection could be made, so nothing was sent.
    Unreachable,
    /// The connection was lost before an answer came.
    Broken,
    /// The server answered that it does not have the home.
    NotOwner,
}

/// Knows which server has a home.
pub trait Owners: Send + Sync {
    /// Returns where a home is used; this server claims it if nobody has it. The answer may be from a cache.
    fn of<'a>(&'a self, home: &'a HomeId) -> BoxFuture<'a, Destination>;

    /// Returns where a home is used now that a server could not answer for it. The answer is not from a cache.
    fn after<'a>(&'a self, home: &'a HomeId, failed: &'a FailedHop) -> BoxFuture<'a, Destination>;

    /// Returns the time since the Unix epoch by the clock that all servers share, which is that of the database.
    fn shared_time(&self) -> Duration;
}
