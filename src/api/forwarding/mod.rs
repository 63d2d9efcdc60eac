//! Passes requests on to the server of a cluster that has the home (docs/cluster.md).
//!
//! Any server of a cluster takes any request. [`Owners`] says where the home is: here, on another server, or nowhere for now.
//! A request for another server passes through as it is, with its credentials, which the owner checks again; its body and its
//! answer are streams, and a WebSocket is passed in both directions. What the owner has to know about the client is in one
//! header, which counts only with a proof of the cluster's secret ([`proof`]). A request passes through once: a server that does
//! not have the home refuses a request that another server has passed on.

mod client;
mod forwarder;
mod owners;
mod payload;
mod proof;
mod relay;
#[cfg(test)]
mod tests;

pub use forwarder::Forwarder;
pub(in crate::api) use forwarder::{Passed, home_moving};
pub use owners::{Destination, FailedHop, HopFailure, Owner, Owners};
pub(in crate::api) use proof::{FORWARDED, Forwarded};
pub(in crate::api) use relay::OwnerSocket;
