//! Who may ask: the guard of every request, credentials and the limit on wrong ones.

pub mod access;
pub mod guard;
pub mod login_limiter;
