//! A TCP proxy whose connections a test can break: before the database, or between two servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;

/// Which bytes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Requests,
    Answers,
}

/// A proxy in front of one address. It ends with the test.
pub struct FaultProxy {
    pub address: SocketAddr,
    fault: Arc<Fault>,
}

struct Fault {
    to: SocketAddr,
    /// Whether connections are refused, and those that are open are closed.
    is_down: AtomicBool,
    went_down: Notify,
    /// Milliseconds that each piece waits, by direction.
    delays: [AtomicU64; 2],
    /// Whether bytes of a direction vanish, with the connection open.
    swallows: [AtomicBool; 2],
    /// Bytes of answers until the connection that brings the next one is cut; `u64::MAX` for never.
    cut_after: AtomicU64,
}

impl FaultProxy {
    pub async fn to(address: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("it is bound");
        let fault = Arc::new(Fault {
            to: address,
            is_down: AtomicBool::new(false),
            went_down: Notify::new(),
            delays: Default::default(),
            swallows: Default::default(),
            cut_after: AtomicU64::new(u64::MAX),
        });
        let of_connections = fault.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, of_connections.clone()));
            }
        });
        Self { address: own, fault }
    }

    /// Closes all connections and refuses new ones, or accepts them again.
    pub fn set_down(&self, is_down: bool) {
        self.fault.is_down.store(is_down, Ordering::SeqCst);
        self.fault.went_down.notify_waiters();
    }

    /// Lets each piece of a direction wait.
    pub fn delay(&self, direction: Direction, time: Duration) {
        let millis = u64::try_from(time.as_millis()).expect("a short time");
        self.fault.delays[direction as usize].store(millis, Ordering::SeqCst);
    }

    /// Lets the bytes of a direction vanish, while the connections stay open.
    pub fn swallow(&self, direction: Direction, swallows: bool) {
        self.fault.swallows[direction as usize].store(swallows, Ordering::SeqCst);
    }

    /// Cuts the connection that brings the byte of this number, once. All answers from now on are counted together.
    pub fn cut_after(&self, bytes: u64) {
        self.fault.cut_after.store(bytes, Ordering::SeqCst);
    }

    /// Whether a connection was cut since [`FaultProxy::cut_after`].
    pub fn has_cut(&self) -> bool {
        self.fault.cut_after.load(Ordering::SeqCst) == u64::MAX
    }
}

async fn pass_on(client: TcpStream, fault: Arc<Fault>) -> std::io::Result<()> {
    if fault.is_down.load(Ordering::SeqCst) {
        return Ok(());
    }
    let server = TcpStream::connect(fault.to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        passed = pump(from_client, to_server, (&fault, Direction::Requests)) => passed,
        passed = pump(from_server, to_client, (&fault, Direction::Answers)) => passed,
        () = fault.went_down.notified() => Ok(()),
    }
}

/// Passes one direction on until it ends, which ends the connection: the clients here close both at once.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    (fault, direction): (&Fault, Direction),
) -> std::io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).await?;
        let wait = fault.delays[direction as usize].load(Ordering::SeqCst);
        if wait > 0 {
            sleep(Duration::from_millis(wait)).await;
        }
        if read == 0 {
            return Ok(());
        }
        if fault.swallows[direction as usize].load(Ordering::SeqCst) {
            continue;
        }
        let left = if direction == Direction::Answers { fault.count(read as u64) } else { None };
        to.write_all(&bytes[..left.map_or(read, |left| left as usize)]).await?;
        if left.is_some() {
            return Ok(());
        }
    }
}

impl Fault {
    /// Counts bytes of answers. Returns how many of them are still passed on if the connection is to be cut.
    fn count(&self, read: u64) -> Option<u64> {
        let counted = self.cut_after.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
            u64::MAX => None,
            left if left < read => Some(u64::MAX),
            left => Some(left - read),
        });
        counted.ok().filter(|left| *left < read)
    }
}

#[tokio::test]
async fn fault_proxy_delays_cuts_and_swallows() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = FaultProxy::to(listener.local_addr().unwrap()).await;
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = connection.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    let connect = async || TcpStream::connect(proxy.address).await.unwrap();
    let echoed = async |connection: &mut TcpStream, text: &[u8]| {
        connection.write_all(text).await.unwrap();
        let mut back = vec![0; text.len()];
        connection.read_exact(&mut back).await.map(|_| back)
    };
    let mut connection = connect().await;
    assert_eq!(echoed(&mut connection, b"one").await.unwrap(), b"one");
    proxy.delay(Direction::Answers, Duration::from_millis(80));
    let since = std::time::Instant::now();
    assert_eq!(echoed(&mut connection, b"two").await.unwrap(), b"two");
    assert!(since.elapsed() >= Duration::from_millis(80));
    proxy.delay(Direction::Answers, Duration::ZERO);
    proxy.swallow(Direction::Answers, true);
    connection.write_all(b"lost").await.unwrap();
    let silence = tokio::time::timeout(Duration::from_secs(1), connection.read_u8()).await;
    assert!(silence.is_err(), "nothing comes, and the connection stays: {silence:?}");
    proxy.swallow(Direction::Answers, false);
    proxy.cut_after(5);
    assert_eq!(echoed(&mut connection, b"abc").await.unwrap(), b"abc");
    assert!(!proxy.has_cut());
    connection.write_all(b"defg").await.unwrap();
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"de", "cut in the middle of a piece");
    assert!(proxy.has_cut());
    let mut connection = connect().await;
    assert_eq!(echoed(&mut connection, b"again").await.unwrap(), b"again", "only once");
    proxy.set_down(true);
    assert_eq!(connection.read_to_end(&mut rest).await.unwrap_or(0), 0);
    assert!(echoed(&mut connect().await, b"x").await.is_err());
}
