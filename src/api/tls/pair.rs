//! A certificate with its key, read from their files and checked.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use secrecy::ExposeSecret;

use super::certificate;
use super::error::TlsUnusable;
use crate::clock;
use crate::domain::FileStamp;
use crate::sandbox::is_readable_by_commands;
use crate::store::{ServerFile, read_server_file, server_file_stamp};

/// Maximum bytes of a file.
const MAX_FILE: u64 = 1 << 20;
/// Permission of everybody else to read or change a file.
const OTHERS: u32 = 0o006;

/// Where a certificate and its key are.
#[derive(Clone, Debug)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The folders whose files the agent or its commands can read, besides those of the system.
    pub exposed: Vec<PathBuf>,
}

/// Stamps of both files; they differ if a file was replaced.
pub type Stamps = [Option<FileStamp>; 2];

/// A certificate and its key.
pub struct Pair {
    pub key: CertifiedKey,
    /// When the certificate expires, in Unix seconds.
    pub valid_until: i64,
    /// Whether clients that do not know its issuer can find a way to it: the file has more than the certificate, or its
    /// holder issued it.
    pub has_chain: bool,
}

impl Files {
    pub fn stamps(&self) -> Stamps {
        [&self.certificate, &self.key].map(|path| server_file_stamp(path))
    }

    /// Reads and checks both files.
    ///
    /// # Errors
    /// Returns [`TlsUnusable`] if they cannot be used.
    pub fn read(&self, provider: &CryptoProvider) -> Result<Pair, TlsUnusable> {
        let chain = self.chain()?;
        let key = self.private_key()?;
        let (valid_until, has_chain) = self.check(&chain)?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsUnusable::WrongKey { certificate: self.certificate.clone(), key: self.key.clone() }
            }
            Error::InvalidCertificate(_) => TlsUnusable::BadCertificate(self.certificate.clone()),
            _ => TlsUnusable::UnsupportedKey(self.key.clone()),
        })?;
        Ok(Pair { key, valid_until, has_chain })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, TlsUnusable> {
        let file = read("certificate", &self.certificate)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(file.bytes.expose_secret()).collect();
        let chain = chain.map_err(|_| TlsUnusable::BadCertificate(self.certificate.clone()))?;
        if chain.is_empty() { Err(TlsUnusable::NoCertificate(self.certificate.clone())) } else { Ok(chain) }
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsUnusable> {
        let file = read("private key", &self.key)?;
        if file.mode & OTHERS != 0 {
            return Err(TlsUnusable::ReadableKey(self.key.clone()));
        }
        if is_readable_by_commands(&file.real_path)
            || self.exposed.iter().any(|folder| file.real_path.starts_with(folder))
        {
            return Err(TlsUnusable::ExposedKey(self.key.clone()));
        }
        let pem = file.bytes.expose_secret();
        let has = |word: &[u8]| pem.windows(word.len()).any(|part| part == word);
        if has(b"ENCRYPTED") {
            return Err(TlsUnusable::EncryptedKey(self.key.clone()));
        }
        // The error would say what is in the file.
        PrivateKeyDer::from_pem_slice(pem).map_err(|_| TlsUnusable::NoKey(self.key.clone()))
    }

    /// Checks what clients would refuse. Returns when the certificate expires and whether it has a chain.
    fn check(&self, chain: &[CertificateDer<'_>]) -> Result<(i64, bool), TlsUnusable> {
        let bad = || TlsUnusable::BadCertificate(self.certificate.clone());
        let all: Option<Vec<_>> = chain.iter().map(|der| certificate::fields(der)).collect();
        let all = all.ok_or_else(bad)?;
        let first = all.first().ok_or_else(bad)?;
        let path = self.certificate.clone();
        if let Some(at) = all.windows(2).position(|two| two[0].issuer != two[1].subject) {
            return Err(TlsUnusable::BadChain { path, at: at + 1 });
        }
        let now = clock::now() as i64;
        if first.valid_until < now {
            return Err(TlsUnusable::Expired { path, until: clock::rfc3339(first.valid_until as f64) });
        }
        if first.valid_from > now {
            return Err(TlsUnusable::NotYetValid { path, from: clock::rfc3339(first.valid_from as f64) });
        }
        Ok((first.valid_until, all.len() > 1 || first.issuer == first.subject))
    }
}

fn read(what: &'static str, path: &Path) -> Result<ServerFile, TlsUnusable> {
    read_server_file(path, MAX_FILE).map_err(|error| {
        let error = if error.kind() == ErrorKind::NotFound { ErrorKind::NotFound.into() } else { error };
        TlsUnusable::Unreadable { what, path: path.to_owned(), error }
    })
}
