//! TLS in the server itself: handshakes with the certificate that the person who runs it names. Both files are read again
//! when one of them was replaced, so that a renewed certificate needs no restart.

mod certificate;
mod error;
mod handshakes;
mod pair;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::clock;
use crate::config::TlsPaths;
use crate::store::real_path;

pub use error::TlsUnusable;

use handshakes::Handshakes;
use pair::{Files, Pair, Stamps};

/// First byte of a TLS connection: that of a handshake record.
const HANDSHAKE_RECORD: u8 = 22;
/// How long before the end of a certificate a warning is due, in seconds: a week.
const SOON: i64 = 7 * 24 * 3600;

/// The TLS of a server.
pub struct Tls {
    files: Files,
    provider: Arc<CryptoProvider>,
    acceptor: TlsAcceptor,
    current: Arc<Current>,
    /// The stamps of the files that were read last, whether they could be used or not. Held while they are read.
    seen: Mutex<Stamps>,
    handshakes: Handshakes,
    valid_until: i64,
}

/// A connection after its first bytes.
pub enum Opened {
    Tls(Box<TlsStream<TcpStream>>),
    /// The client does not speak TLS.
    Plain(TcpStream),
}

impl Tls {
    /// Reads the certificate and its key. `home` is the folder of the server, in which only files at the top are out of the
    /// agent's reach.
    ///
    /// # Errors
    /// Returns [`TlsUnusable`], which says what to do.
    pub fn open(paths: &TlsPaths, home: &Path) -> Result<Self, TlsUnusable> {
        let certificate = paths.certificate.clone().ok_or(TlsUnusable::Incomplete("--tls-cert or tls_cert"))?;
        let key = paths.key.clone().ok_or(TlsUnusable::Incomplete("--tls-key or tls_key"))?;
        // The files are compared without symbolic links.
        let home = real_path(home);
        let exposed = EXPOSED.iter().map(|folder| home.join(folder)).collect();
        let files = Files { certificate, key, exposed };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let seen = files.stamps();
        let pair = files.read(&provider)?;
        warn(&files, &pair);
        let valid_until = pair.valid_until;
        let current = Arc::new(Current(RwLock::new(Arc::new(pair.key))));
        let versions = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let versions = versions.map_err(|_| TlsUnusable::UnsupportedKey(files.key.clone()))?;
        let mut config = versions.with_no_client_auth().with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let (acceptor, handshakes) = (TlsAcceptor::from(Arc::new(config)), Handshakes::default());
        Ok(Self { files, provider, acceptor, current, seen: Mutex::new(seen), handshakes, valid_until })
    }

    /// Returns when the certificate that was there at the start expires, in Unix seconds.
    pub fn valid_until(&self) -> i64 {
        self.valid_until
    }

    /// Does the handshake of a new connection; `None` if it failed or took too long.
    pub async fn handshake(self: &Arc<Self>, stream: TcpStream) -> Option<Opened> {
        let handshake = self.handshakes.begin();
        let opening = async {
            let mut first = [0];
            if stream.peek(&mut first).await.ok()? == 0 {
                return None;
            }
            if first[0] != HANDSHAKE_RECORD {
                return Some(Opened::Plain(stream));
            }
            let tls = self.clone();
            tokio::task::spawn_blocking(move || tls.follow_files()).await.ok()?;
            let opened = self.acceptor.accept(stream).await;
            let opened = opened.inspect_err(|error| tracing::trace!(%error, "a TLS handshake failed"));
            opened.ok().map(|stream| Opened::Tls(Box::new(stream)))
        };
        handshake.bounded(opening).await.flatten()
    }

    /// Reads the files again if one of them was replaced. Files that cannot be used, such as a new certificate whose key is
    /// not there yet, change nothing.
    fn follow_files(&self) {
        let Ok(mut seen) = self.seen.try_lock() else { return };
        let stamps = self.files.stamps();
        if *seen == stamps {
            return;
        }
        *seen = stamps;
        match self.files.read(&self.provider) {
            Ok(pair) => {
                warn(&self.files, &pair);
                tracing::info!(until = clock::rfc3339(pair.valid_until as f64), "the TLS certificate was read again");
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair.key);
            }
            Err(error) => {
                tracing::warn!(%error, "the TLS certificate was replaced by one that cannot be used; the former one stays");
            }
        }
    }
}

/// The folders of a home whose files the agent, its commands or the page can read.
const EXPOSED: &[&str] =
    &["workspace", "memory", "knowledge", "skills", "scratch", "workspaces", "people", "sessions", "storage"];

/// Warns about what will keep clients out.
fn warn(files: &Files, pair: &Pair) {
    let path = files.certificate.display();
    if pair.valid_until < clock::now() as i64 + SOON {
        let until = clock::rfc3339(pair.valid_until as f64);
        tracing::warn!(
            "the certificate {path} expires on {until}; renew it, and the server will use the new one at once"
        );
    }
    if !pair.has_chain {
        tracing::warn!(
            "{path} has only the certificate of this server. Unless its issuer is one that clients know themselves, they refuse \
             it: use the file with the whole chain, which certbot calls fullchain.pem"
        );
    }
}

/// The certificate of the next handshake.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
