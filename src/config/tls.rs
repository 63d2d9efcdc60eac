//! `tls_cert` and `tls_key` in config.yml.

use std::path::{Path, PathBuf};

/// Where the certificate of the server and its key are. Without both the server speaks HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsPaths {
    /// The certificate and those that lead to its issuer, in PEM format.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM format.
    pub key: Option<PathBuf>,
}

impl TlsPaths {
    pub fn is_set(&self) -> bool {
        self.certificate.is_some() || self.key.is_some()
    }

    /// Returns these paths below `folder`, if they are relative.
    pub fn beneath(&self, folder: &Path) -> Self {
        let beneath = |path: &Option<PathBuf>| path.as_ref().map(|path| folder.join(path));
        Self { certificate: beneath(&self.certificate), key: beneath(&self.key) }
    }
}
