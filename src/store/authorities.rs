//! The authorities whose certificates are trusted: those of the system, or those in a file.

use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Maximum size of a file with certificates of authorities.
const MAX_SIZE: u64 = 4 << 20;

/// Why certificates cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesUnusable {
    #[error("the certificates in {} cannot be read: {reason}", file.display())]
    File { file: PathBuf, reason: String },
    #[error("this system has no certificates of authorities; name a file with them")]
    None,
}

/// Reads the certificates in this file, or those of the system.
///
/// # Errors
/// Returns an error if there are none.
pub fn trusted_authorities(file: Option<&Path>) -> Result<RootCertStore, AuthoritiesUnusable> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() { Err(AuthoritiesUnusable::None) } else { Ok(roots) };
    };
    let unusable = |reason: String| AuthoritiesUnusable::File { file: file.to_owned(), reason };
    let size = std::fs::metadata(file).map_err(|error| unusable(error.to_string()))?.len();
    if size > MAX_SIZE {
        return Err(unusable(format!("it has more than {MAX_SIZE} bytes")));
    }
    let text = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it contains no certificate".to_owned()));
    }
    Ok(roots)
}
