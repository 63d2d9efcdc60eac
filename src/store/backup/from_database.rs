//! A backup of a home in a database: what one transaction of the database sees.

use std::fs;
use std::io;
use std::path::Path;

use super::contents::SECRETS;
use super::{BackupError, BackupOptions, BackupReport, SecretsUse, back_up, is_in_home, make_private, partial_name};
use crate::store::error::StoreError;
use crate::store::postgres::DatabaseAddress;
use crate::store::replica::export;

/// Writes a backup of the home in a database, with the configuration in the folder `options.home`. All homes are written to a
/// folder beside the file first, which needs as much room as they do.
///
/// # Errors
/// Returns why there is no backup.
pub async fn back_up_database(
    address: &DatabaseAddress,
    options: &BackupOptions<'_>,
    file: &Path,
) -> Result<BackupReport, BackupError> {
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { file: file.display().to_string() });
    }
    let folder = file.with_file_name(partial_name(file)?);
    if is_in_home(folder.parent().unwrap_or(Path::new(".")), options.home) {
        return Err(BackupError::InHome { file: file.display().to_string() });
    }
    make_private(&folder).map_err(StoreError::io(format!("making {}", folder.display())))?;
    let done = match export(address, &folder).await {
        Ok(()) => exported(&folder, options, file),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = fs::remove_dir_all(&folder) {
        tracing::warn!(%error, folder = %folder.display(), "what the backup was made from could not be removed");
    }
    done
}

fn exported(folder: &Path, options: &BackupOptions<'_>, file: &Path) -> Result<BackupReport, BackupError> {
    // Tokens are in the database, too, unless the copy of the home is somewhere else.
    let names = ["config.yml", "api-tokens.json", SECRETS].into_iter();
    for name in names.filter(|name| *name != SECRETS || options.secrets == SecretsUse::Included) {
        if folder.join(name).exists() {
            continue;
        }
        match fs::copy(options.home.join(name), folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io(format!("reading {name}"))(error).into());
            }
            _ => {}
        }
    }
    back_up(&BackupOptions { home: folder, ..*options }, file)
}
