//! Accounts: how people sign in, and what they and admins change about accounts.

pub mod account;
pub mod audit;
pub mod invitations;
pub mod people;
pub mod profile;
mod refused;
pub mod tokens;
mod user;
