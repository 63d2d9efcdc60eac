//! The files of the home: read, save, move, delete, and trust.

pub mod file;
pub mod moving;
pub mod trust;
