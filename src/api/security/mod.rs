//! Access control: the guard of every request, credentials, and the limit on failed logins.

pub mod access;
pub mod audit;
pub mod caller;
pub mod client;
pub mod guard;
pub mod login;
pub mod origin;
pub mod person;
pub mod program;
pub mod proxy_user;
pub mod requester;
pub mod routed;
