//! The guard as the HTTP client's DNS resolver: the client dials exactly the addresses that the guard checked.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::egress::{DialTarget, Lookup, dialable};

/// Resolves names only to addresses that the client may dial.
pub struct GuardedResolver {
    pub lookup: Lookup,
    pub reach: DialTarget,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (asked, reach, name) = ((self.lookup)(name.as_str().to_owned()), self.reach, name.as_str().to_owned());
        Box::pin(async move {
            let dialled = dialable(&name, asked.await?, reach)?;
            Ok(Box::new(dialled.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::egress::NoPublicAddress;

    #[tokio::test]
    async fn rebinding_name_is_checked_every_time() {
        let calls = AtomicUsize::new(0);
        let lookup: Lookup = Arc::new(move |_| {
            let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
            let address: IpAddr = if first { [93, 184, 216, 34].into() } else { [127, 0, 0, 1].into() };
            Box::pin(async move { Ok(vec![address]) })
        });
        let resolver = GuardedResolver { lookup, reach: DialTarget::Public };
        let resolve = || resolver.resolve("flip.test".parse().unwrap());
        assert_eq!(resolve().await.unwrap().count(), 1);
        let second = resolve().await.err().unwrap();
        assert!(second.downcast_ref::<NoPublicAddress>().is_some(), "{second}");
    }
}
