//! The files of the home: read, list, save, move, delete, and trust.

pub mod deleted;
pub mod file;
pub mod folder;
pub mod moving;
pub mod search;
pub mod skills;
pub mod trust;
