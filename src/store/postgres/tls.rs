//! TLS with a database, with rustls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Encryption;

/// Maximum size of a file with certificates of authorities.
const MAX_AUTHORITIES: u64 = 4 << 20;

/// Why certificates cannot be checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsUnusable {
    #[error("the certificates in {} cannot be read: {reason}", file.display())]
    Authorities { file: PathBuf, reason: String },
    #[error("this system has no certificates of authorities; name a file with sslrootcert")]
    NoAuthorities,
    #[error("{0}")]
    Rustls(#[from] rustls::Error),
}

/// Returns what connects with this encryption.
///
/// # Errors
/// Returns an error if the certificates of the authorities cannot be read.
pub(super) fn connector(encryption: &Encryption) -> Result<MakeRustlsConnect, TlsUnusable> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let config = match encryption {
        Encryption::Verified { authorities } => builder.with_root_certificates(roots(authorities.as_deref())?),
        Encryption::None | Encryption::IfOffered | Encryption::Unverified => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        }
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, TlsUnusable> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            let unusable = |reason: String| TlsUnusable::Authorities { file: file.to_owned(), reason };
            let size = std::fs::metadata(file).map_err(|error| unusable(error.to_string()))?.len();
            if size > MAX_AUTHORITIES {
                return Err(unusable(format!("it has more than {MAX_AUTHORITIES} bytes")));
            }
            let text = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(unusable("it contains no certificate".to_owned()));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(TlsUnusable::NoAuthorities);
            }
        }
    }
    Ok(roots)
}

/// Accepts every certificate, as `prefer` and `require` mean it, but only from whoever has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
