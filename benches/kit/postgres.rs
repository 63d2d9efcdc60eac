//! A PostgreSQL server for the measurements, with its ordinary settings, on this machine.

use std::fs;
use std::io::{self, Error};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use super::relay::Relay;

/// The user that runs PostgreSQL for root, which it refuses.
const NOBODY: u32 = 65_534;
const PASSWORD: &str = "bench";
/// Timeout of its start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; dropping it stops the process and removes its data.
pub struct Postgres {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Postgres {
    /// Returns `None` if there are no programs in `MINICLAW_POSTGRES_BIN` or in `target/tools/postgres/bin`.
    pub async fn start() -> io::Result<Option<Self>> {
        let of_tools = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/postgres/bin");
        let bin = std::env::var_os("MINICLAW_POSTGRES_BIN").map_or_else(of_tools, PathBuf::from);
        if !bin.join("postgres").is_file() {
            return Ok(None);
        }
        // On a disk, where also the user that runs it gets through.
        let folder = tempfile::Builder::new().prefix("miniclaw-bench-").tempdir_in("/var/tmp")?;
        give(folder.path(), 0o700)?;
        let bin = reachable(&bin, folder.path())?;
        let (data, password) = (folder.path().join("data"), folder.path().join("password"));
        fs::write(&password, PASSWORD)?;
        give(&password, 0o600)?;
        let mut init = command(&bin.join("initdb"));
        init.args(["--username=miniclaw", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
        done(init.arg(format!("--pwfile={}", password.display())).arg("-D").arg(&data).output()?, "initdb")?;
        let port = free_port()?;
        let mut server = command(&bin.join("postgres"));
        server.arg("-D").arg(&data).arg("-p").arg(port.to_string()).arg("-k").arg(folder.path());
        server.args(["-c", "listen_addresses=127.0.0.1"]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { process: server.spawn()?, port, _folder: folder };
        let began = Instant::now();
        while server.connect().await.is_err() {
            if began.elapsed() > PATIENCE {
                return Err(Error::other("PostgreSQL does not answer"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Some(server))
    }

    pub fn url(&self) -> String {
        url_at(self.port, "postgres")
    }

    /// Makes another database, and returns its address.
    pub async fn database(&self, name: &str) -> io::Result<String> {
        let make = format!("CREATE DATABASE {name}");
        self.connect().await?.batch_execute(&make).await.map_err(Error::other)?;
        Ok(url_at(self.port, name))
    }

    /// Returns a relay in front of it, and its address there.
    pub async fn relayed(&self) -> io::Result<(Relay, String)> {
        let relay = Relay::to(self.port).await?;
        let url = url_at(relay.port, "postgres");
        Ok((relay, url))
    }

    /// Connects without the program that is measured.
    pub async fn connect(&self) -> io::Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.map_err(Error::other)?;
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SAFETY: signals a child that has not been waited for, so its process id cannot have been reused. It stops at once.
        unsafe { libc::kill(self.process.id() as i32, libc::SIGINT) };
        let _ = self.process.wait();
    }
}

fn url_at(port: u16, database: &str) -> String {
    format!("postgres://miniclaw:{PASSWORD}@127.0.0.1:{port}/{database}?sslmode=disable")
}

pub fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn is_root() -> bool {
    // SAFETY: it only returns a number.
    unsafe { libc::geteuid() == 0 }
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Returns these programs, or a copy in `folder` if they are in a folder that is closed to the user that runs them.
fn reachable(bin: &Path, folder: &Path) -> io::Result<PathBuf> {
    if command(&bin.join("initdb")).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(bin.to_owned());
    }
    let (all, name) = bin.parent().zip(bin.file_name()).ok_or_else(|| Error::other("no folder of programs"))?;
    done(Command::new("cp").arg("-a").arg(all).arg(folder.join("programs")).output()?, "cp")?;
    let owner = format!("{NOBODY}:{NOBODY}");
    done(Command::new("chown").arg("-R").arg(owner).arg(folder.join("programs")).output()?, "chown")?;
    Ok(folder.join("programs").join(name))
}

fn give(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    if is_root() { chown(path, Some(NOBODY), Some(NOBODY)) } else { Ok(()) }
}

fn done(output: Output, program: &str) -> io::Result<()> {
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::other(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}
