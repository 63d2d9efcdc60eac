//! Commands on copies of a home that is in a database: what they change or read there may not count.

use std::path::Path;

use anyhow::bail;

use super::load_config;
use crate::config::ClusterConfig;
use crate::store::{ClusterRows, is_copy};

/// Requires that what a command changes in this folder counts: that the home is not in the database of a cluster, or that the server
/// of this folder has it.
///
/// # Errors
/// Returns an error that says where to run the command, and those of the configuration and the database.
pub fn require_home_here(folder: &Path) -> anyhow::Result<()> {
    let Some(database) = load_config(folder)?.0.database else { return Ok(()) };
    // What is beside config.yml, and not in the copy, counts everywhere.
    let Some(ClusterConfig { address, .. }) = database.cluster.as_ref().filter(|_| database.cache.is_none()) else {
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(ClusterRows::address_of_owner(&database.address))? {
        Some(owner) if owner == *address => Ok(()),
        Some(owner) => bail!(
            "the home is in the database of a cluster, and the server at {owner} has it now: run this command there, with the folder of \
             that server. What it changed here would not count"
        ),
        None => bail!(
            "the home is in the database of a cluster, and no server has it now, so what this command changed here might not count. Open \
             the page, so that a server takes it, and run the command on that server"
        ),
    }
}

/// Refuses a command that changes a home in the folder of a cluster's server, which is a copy.
///
/// # Errors
/// Returns an error that says what to do instead, and those of the configuration.
pub fn refuse_in_cluster(folder: &Path, instead: &str) -> anyhow::Result<()> {
    match load_config(folder)?.0.database.and_then(|database| database.cluster) {
        None => Ok(()),
        Some(_) => {
            bail!("the home is in the database of a cluster, and the copy in this folder may be an old one; {instead}")
        }
    }
}

/// Refuses a folder that is the copy of a home in a database, beside the folder with config.yml (`cache`).
///
/// # Errors
/// Returns an error that says what to do instead.
pub fn refuse_copy(folder: &Path) -> anyhow::Result<()> {
    if is_copy(folder) && !folder.join("config.yml").exists() {
        bail!(
            "this is a copy of a home that is in a database, and may be an old one; name the folder with config.yml instead"
        );
    }
    Ok(())
}
