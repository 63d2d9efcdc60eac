//! Who may ask: the guard of every request, credentials and the limit on wrong ones.

pub mod access;
pub mod caller;
pub mod guard;
pub mod login;
pub mod login_limiter;
