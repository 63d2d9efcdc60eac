//! Sessions: list, search, change, compress, move, and their archives.

pub mod archive;
pub mod away;
pub mod compress;
pub mod find;
pub mod pins;
pub mod rewind;
pub mod session;
pub mod taint;
pub mod transfer;
pub mod undo;
pub mod works;
