//! The program under test as a process, and its resource usage from the kernel.

use std::fs;
use std::io::{self, BufRead, BufReader, Error};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use url::Url;

use super::http::Connection;

/// A running server; dropping it stops the process.
pub struct Server {
    child: Child,
    /// What the server prints after its address.
    output: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

/// Returns the path of the release binary: `MINICLAW_BIN`, or the one that cargo built for this driver.
pub fn binary() -> PathBuf {
    std::env::var_os("MINICLAW_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_miniclaw")), PathBuf::from)
}

/// Returns a command for the program with an empty environment except `PATH`, so that it cannot use a person's API keys.
pub fn program() -> Command {
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    command
}

fn serve() -> Command {
    let mut command = program();
    command.arg("serve");
    command
}

/// Creates a starter home whose only model is the scripted provider at `model`.
pub fn starter_home(folder: &Path, model: &Url) -> io::Result<()> {
    let made = program().arg("init").arg(folder).stdout(Stdio::null()).status()?;
    if !made.success() {
        return Err(Error::other("init failed"));
    }
    configure(folder, model)
}

/// Configures the scripted provider at `model` as the home's only model.
pub fn configure(folder: &Path, model: &Url) -> io::Result<()> {
    configure_more(folder, model, "")
}

/// Does the same and adds `lines` to config.yml.
pub fn configure_more(folder: &Path, model: &Url, lines: &str) -> io::Result<()> {
    let config = format!(
        "find_local_models: false\nmodels:\n  - {{id: scripted, api_url: '{model}', api_key: none, context_window: 128000}}\n{lines}"
    );
    fs::write(folder.join("config.yml"), config)
}

/// Where a member of a cluster listens, and the address of its database.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    pub port: u16,
    pub database: &'a str,
}

impl Server {
    /// Starts the server on a free port and waits until it prints its address.
    pub fn start(home: &Path) -> io::Result<Self> {
        Self::spawn(serve(), home)
    }

    /// Does the same with `models` as the folder of the models.
    pub fn start_with_models(home: &Path, models: &Path) -> io::Result<Self> {
        let mut command = serve();
        command.env("MINICLAW_MODELS", models);
        Self::spawn(command, home)
    }

    /// Does the same without the sandbox.
    pub fn start_without_sandbox(home: &Path) -> io::Result<Self> {
        let mut command = serve();
        command.args(["--sandbox", "off"]);
        Self::spawn(command, home)
    }

    /// Does the same for several people, whose sign-ins this secret signs.
    pub fn start_for_people(home: &Path, jwt_secret: &str) -> io::Result<Self> {
        let mut command = serve();
        command.env("MINICLAW_JWT_SECRET", jwt_secret);
        Self::spawn(command, home)
    }

    /// Starts a member of a cluster, whose config.yml says at which port the others reach it.
    pub fn start_member(home: &Path, member: Member<'_>) -> io::Result<Self> {
        let mut command = serve();
        command.env("DATABASE_URL", member.database);
        Self::spawn_at(command, home, member.port)
    }

    /// Ends it as a power cut does.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Stops its processes as a frozen virtual machine does; it stays so.
    pub fn freeze(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Ends it in order, as SIGTERM does, however long that takes.
    pub fn terminate(mut self) -> io::Result<()> {
        self.signal(libc::SIGTERM);
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(Error::other(format!("the server ended with {status}"))) }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: signals a child that has not been waited for, so its process id cannot have been reused.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Reads the code that a server without an account prints after its address.
    pub fn setup_code(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let code = line.split_once("setup code: ").map(|(_, code)| code.trim().to_owned());
        code.ok_or_else(|| Error::other(format!("the server printed {line:?} instead of its setup code")))
    }

    fn spawn(command: Command, home: &Path) -> io::Result<Self> {
        Self::spawn_at(command, home, 0)
    }

    fn spawn_at(mut command: Command, home: &Path, port: u16) -> io::Result<Self> {
        command.arg("--port").arg(port.to_string()).arg("--home").arg(home).env("MINICLAW_LOG", "error");
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().ok_or_else(|| Error::other("no stdout"))?);
        output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        match address {
            Some(address) => Ok(Self { child, output, address }),
            None => {
                child.kill()?;
                child.wait()?;
                Err(Error::other(format!("the server said {line:?} instead of its address")))
            }
        }
    }

    /// Measures the time from spawning the process to its first status 200 on `/health`.
    pub async fn time_to_health(home: &Path) -> io::Result<(Self, Duration)> {
        let began = Instant::now();
        let server = Self::start(home)?;
        let health = server.connect().await?.get("/health").await?;
        let took = began.elapsed();
        if health.status == 200 { Ok((server, took)) } else { Err(Error::other("/health is not 200")) }
    }

    pub async fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.address).await
    }

    /// Returns resident memory in MB (10⁶ bytes): the total, and the part that is not file pages.
    pub fn memory(&self) -> io::Result<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().nth(0)?.parse::<f64>().ok()? * 1024.0 / 1e6)
        };
        let missing = || Error::other("no memory figures in /proc");
        Ok((field("VmRSS:").ok_or_else(missing)?, field("RssAnon:").ok_or_else(missing)?))
    }

    /// Returns the processor time used so far.
    pub fn cpu(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        // The kernel reports this to user space in units of 1/100 s (USER_HZ) on every Linux.
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Returns how many processes it has started that still run.
    pub fn children(&self) -> io::Result<usize> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()))?;
        let of_task = |task: io::Result<fs::DirEntry>| fs::read_to_string(task?.path().join("children"));
        tasks.map(of_task).map(|children| Ok(children?.split_whitespace().count())).sum()
    }

    pub fn threads(&self) -> io::Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/task", self.child.id()))?.count())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `kill` and `terminate` have waited for it.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal(libc::SIGTERM);
        let deadline = Instant::now() + Duration::from_secs(12);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // The process did not end on SIGTERM; kill it so that nothing is left running.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
