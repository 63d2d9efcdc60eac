//! A relay of TCP connections that can be cut, as if a network were.

use std::future::pending;
use std::io;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Dropping it closes all connections.
pub struct Relay {
    pub port: u16,
    is_cut: watch::Sender<bool>,
    serving: AbortHandle,
}

impl Relay {
    /// Relays to this port of the machine.
    pub async fn to(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let (is_cut, cut) = watch::channel(false);
        let serving = tokio::spawn(async move {
            let mut passing = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                passing.spawn(pass(client, port, cut.clone()));
            }
        });
        Ok(Self { port: own, is_cut, serving: serving.abort_handle() })
    }

    /// Passes nothing on from now on. Connections stay open and silent, and new ones are taken.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn pass(mut client: TcpStream, port: u16, mut cut: watch::Receiver<bool>) {
    let passed = async {
        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        biased;
        _ = cut.wait_for(|is_cut| *is_cut) => {}
        // A side that closes its connection ends the other's.
        _ = passed => return,
    }
    // Both sides keep their connections.
    pending().await
}
