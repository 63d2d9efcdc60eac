//! Why a certificate or its key cannot be used. The messages say what to do, and contain nothing of the files.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum TlsUnusable {
    #[error("TLS needs a certificate and its key: {0} is missing on the command line and in config.yml")]
    Incomplete(&'static str),
    #[error("the {what} {} cannot be read: {error}. {}", path.display(), advice(error))]
    Unreadable { what: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "{} has no certificate in PEM format (-----BEGIN CERTIFICATE-----). tls_cert is the file with the whole chain, \
         which certbot calls fullchain.pem", .0.display()
    )]
    NoCertificate(PathBuf),
    #[error("{} has a certificate that is damaged. Copy the file again, or request another certificate", .0.display())]
    BadCertificate(PathBuf),
    #[error(
        "{} has no private key in PEM format (-----BEGIN PRIVATE KEY-----). tls_key is the file that certbot calls \
         privkey.pem", .0.display()
    )]
    NoKey(PathBuf),
    #[error(
        "the private key {path} is protected by a passphrase, which nobody can type when a server starts. Make a copy without \
         one, readable only for the server: (umask 077; openssl pkey -in {path} -out key.pem)", path = .0.display()
    )]
    EncryptedKey(PathBuf),
    #[error(
        "the private key {} is of a kind that this server does not support. Use RSA with 2048 to 8192 bits, ECDSA with P-256 \
         or P-384, or Ed25519", .0.display()
    )]
    UnsupportedKey(PathBuf),
    #[error(
        "the private key {} is not that of the certificate {}. Use the two files that were made together",
        key.display(), certificate.display()
    )]
    WrongKey { certificate: PathBuf, key: PathBuf },
    #[error(
        "everybody on this machine can read the private key {path}. Run this, and start again: chmod o-rwx {path}",
        path = .0.display()
    )]
    ReadableKey(PathBuf),
    #[error(
        "commands of the agent could read the private key {}, because it is in a folder that they may read. Move it elsewhere, \
         for example to /etc/miniclaw, or next to config.yml", .0.display()
    )]
    ExposedKey(PathBuf),
    #[error("the certificate {} expired on {until}. Renew it (certbot renew), and start again", path.display())]
    Expired { path: PathBuf, until: String },
    #[error(
        "the certificate {} is valid only from {from}. Check the clock of this machine, or start the server later",
        path.display()
    )]
    NotYetValid { path: PathBuf, from: String },
    #[error(
        "the certificates in {} are not in order: number {at} was not issued by number {}. The file begins with the \
         certificate of this server, and each of the others is that of the issuer of the one before", path.display(), at + 1
    )]
    BadChain { path: PathBuf, at: usize },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "Check --tls-cert and --tls-key, or tls_cert and tls_key in config.yml",
        io::ErrorKind::PermissionDenied => {
            "The user of the server has to be able to read it. Certbot's folders are for root only: copy the files with a deploy \
             hook (docs/people.md), and do not start the server as root"
        }
        _ => "It has to be a file in PEM format",
    }
}
