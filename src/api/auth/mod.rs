//! Accounts: how people sign in, and what they and admins change about accounts.

pub mod account;
pub mod audit;
pub mod invitations;
pub mod people;
pub mod profile;
pub mod proxy;
mod refused;
pub mod tokens;
pub mod usage;
mod user;
