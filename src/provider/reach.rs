//! What may be reached at an address that somebody else than the owner of the server has chosen.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

/// Why an address may not be reached.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AddressRefused(pub String);

/// Decides which addresses may be dialled.
pub trait Reach: Send + Sync {
    /// Checks what can be told without resolving the name.
    ///
    /// # Errors
    /// Returns why nothing may be sent there.
    fn check(&self, url: &Url) -> Result<(), AddressRefused>;

    /// Returns the addresses of a name of this URL that may be dialled. A name that has only others is an
    /// [`AddressRefused`].
    fn addresses(
        &self,
        url: &Url,
        name: String,
    ) -> BoxFuture<'static, Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>>>;
}

/// The resolver of a client: it dials exactly the addresses that were checked.
pub(super) struct ReachableNames {
    pub reach: Arc<dyn Reach>,
    pub url: Url,
}

impl Resolve for ReachableNames {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.reach.addresses(&self.url, name.as_str().to_owned());
        Box::pin(async move {
            let addresses = addresses.await?;
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
