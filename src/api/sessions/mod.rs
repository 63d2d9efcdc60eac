//! Sessions: list, search, change, compact, transfer, archive, delete.

pub mod archive;
pub mod changes;
pub mod cited;
pub mod compacted;
pub mod compress;
pub mod deleted;
pub mod find;
pub mod history;
pub mod jobs;
pub mod labels;
pub mod operations;
pub mod pins;
pub mod project;
pub mod recall;
pub mod rewind;
pub mod session;
pub mod taint;
pub mod transfer;
pub mod undo;
pub mod withdraw;
pub mod works;
